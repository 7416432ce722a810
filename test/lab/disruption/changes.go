package disruption

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// upgrade changes the release from the older to the newer version.
func (d *Disruptor) upgrade(ctx context.Context, key client.ObjectKey) (string, error) {
	image, err := d.Release(ctx, d.Newer)
	if err != nil {
		return "", err
	}
	if _, err := d.Change(ctx, key, func(hc *hyperv1.HostedCluster) { hc.Spec.Release.Image = image }); err != nil {
		return "", err
	}
	err = WaitFor(ctx, "the upgrade is complete", func(ctx context.Context) error {
		hc := &hyperv1.HostedCluster{}
		if err := d.Management.Get(ctx, key, hc); err != nil {
			return err
		}
		history := ptr.Deref(hc.Status.Version, hyperv1.ClusterVersionStatus{}).History
		if len(history) != 2 || history[0].Version != d.Newer || history[0].State != configv1.CompletedUpdate || history[1].Version != d.Older {
			return fmt.Errorf("the history of versions is %+v", history)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("from %s to %s", d.Older, d.Newer), d.Complete(ctx, key)
}

// rotated are the authorities that a rotation replaces completely. The authority that signs for nodes stays trusted for a month.
var rotated = []string{
	names.RootCA, names.ClientSigner, names.EtcdSigner, names.KonnectivitySigner, names.AggregatorClientSigner, names.KubeletClientSigner,
}

// rotateCertificates replaces all authorities, and waits until the former ones are not trusted.
func (d *Disruptor) rotateCertificates(ctx context.Context, key client.ObjectKey) (string, error) {
	before := map[string][]byte{}
	for _, name := range rotated {
		signer, err := d.signer(ctx, key, name)
		if err != nil {
			return "", err
		}
		before[name] = signer.Data[corev1.TLSCertKey]
	}
	if _, err := d.Change(ctx, key, func(hc *hyperv1.HostedCluster) {
		metav1.SetMetaDataAnnotation(&hc.ObjectMeta, hyperv1.RotateCertificatesAnnotation, time.Now().Format(time.RFC3339))
	}); err != nil {
		return "", err
	}
	err := waitWithin(ctx, rotationTimeout, "the former authorities are not trusted", func(ctx context.Context) error {
		for name, old := range before {
			signer, err := d.signer(ctx, key, name)
			if err != nil {
				return err
			}
			trusted, err := pki.ParseBundle(signer.Data[pki.TrustKey])
			if err != nil {
				return err
			}
			if same := bytes.Equal(signer.Data[corev1.TLSCertKey], old); same || len(trusted) != 1 {
				return fmt.Errorf("%s trusts %d authorities; the former one signs: %t", name, len(trusted), same)
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d authorities and all that they sign", len(rotated)), d.Complete(ctx, key)
}

func (d *Disruptor) signer(ctx context.Context, key client.ObjectKey, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if err := certsecret.Get(ctx, d.Management, client.ObjectKey{Namespace: controlPlane(key), Name: name}, secret); err != nil {
		return nil, fmt.Errorf("getting authority %s of %s: %w", name, key, err)
	}
	return secret, nil
}

// NewKey creates a Secret with an encryption key in the namespace of the HostedCluster.
func (d *Disruptor) NewKey(ctx context.Context, key client.ObjectKey, name string) error {
	content := make([]byte, 32)
	if _, err := rand.Read(content); err != nil {
		return fmt.Errorf("making an encryption key: %w", err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name}, Data: map[string][]byte{"key": content}}
	if err := d.Management.Create(ctx, secret); err != nil {
		return fmt.Errorf("creating an encryption key: %w", err)
	}
	return nil
}

// EncryptedWith is the configuration that encrypts Secrets with the key of NewKey.
func EncryptedWith(secret string) *hyperv1.SecretEncryptionSpec {
	return &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC, AESCBC: &hyperv1.AESCBCSpec{ActiveKey: corev1.LocalObjectReference{Name: secret}}}
}

// rotateKeys replaces the key with which Secrets are encrypted, and waits until all Secrets are encrypted with it. The former key stays for ten
// minutes more.
func (d *Disruptor) rotateKeys(ctx context.Context, key client.ObjectKey) (string, error) {
	second := key.Name + "-second"
	if err := d.NewKey(ctx, key, second); err != nil {
		return "", err
	}
	changed, err := d.Change(ctx, key, func(hc *hyperv1.HostedCluster) { hc.Spec.SecretEncryption = EncryptedWith(second) })
	if err != nil {
		return "", err
	}
	err = WaitFor(ctx, "all Secrets are encrypted with the new key", func(ctx context.Context) error {
		hc := &hyperv1.HostedCluster{}
		if err := d.Management.Get(ctx, key, hc); err != nil {
			return err
		}
		c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.EtcdDataEncryptionUpToDate)
		if c == nil || c.ObservedGeneration < changed.Generation || c.Reason != hyperv1.RetainingOldKeysReason {
			return fmt.Errorf("condition %s is %+v", hyperv1.EtcdDataEncryptionUpToDate, c)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return "every Secret is encrypted again; the former key stays for ten minutes", d.Complete(ctx, key)
}

// changeAccess adds the private path, and removes it again.
func (d *Disruptor) changeAccess(ctx context.Context, key client.ObjectKey) (string, error) {
	for _, mode := range []hyperv1.AWSEndpointAccessType{hyperv1.PublicAndPrivate, hyperv1.Public} {
		changed, err := d.Change(ctx, key, func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS.EndpointAccess = mode })
		if err != nil {
			return "", err
		}
		err = WaitFor(ctx, "the access mode is "+string(mode), func(ctx context.Context) error {
			hc := &hyperv1.HostedCluster{}
			if err := d.Management.Get(ctx, key, hc); err != nil {
				return err
			}
			c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.EndpointAccessUpToDate)
			if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration < changed.Generation {
				return fmt.Errorf("condition %s is %+v", hyperv1.EndpointAccessUpToDate, c)
			}
			err := d.Management.Get(ctx, client.ObjectKey{Namespace: controlPlane(key), Name: names.PrivateRouter}, &corev1.Service{})
			if client.IgnoreNotFound(err) != nil {
				return err
			}
			if private := !apierrors.IsNotFound(err); private != mode.Has(hyperv1.Private) {
				return fmt.Errorf("there is a private path: %t", private)
			}
			return nil
		})
		if err != nil {
			return "", err
		}
		if err := d.Complete(ctx, key); err != nil {
			return "", err
		}
	}
	return "to PublicAndPrivate and back to Public", nil
}
