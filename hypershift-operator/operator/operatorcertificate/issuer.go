// Package operatorcertificate keeps a certificate of the hypershift-operator in a Secret of its namespace. The authority that signs it is
// another Secret, which only the operator reads. All replicas may do so at the same time.
package operatorcertificate

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// interval is how often the certificate is checked: it is renewed months before
// it ends.
const interval = 12 * time.Hour

// Issuer issues the certificate. It is a Runnable, which renews it.
type Issuer struct {
	// Client writes, and Reader reads from the API server.
	Client    client.Client
	Reader    client.Reader
	Clock     clock.WithTicker
	Namespace string
	// Signer and Secret are the names of the Secrets of the authority and of the certificate.
	Signer, Secret string
	Wanted         pki.Request
}

// Start renews the certificate until ctx ends.
func (i *Issuer) Start(ctx context.Context) error {
	for {
		if _, err := i.Ensure(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Renewing a certificate of the operator", "secret", i.Secret)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-i.Clock.After(interval):
		}
	}
}

// Ensure issues missing or due certificates, and returns the data of the Secret: the certificate,
// its key, and the authority under pki.TrustKey. Replicas of the operator may do it at the same time.
func (i *Issuer) Ensure(ctx context.Context) (data map[string][]byte, err error) {
	retriable := func(err error) bool { return apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) }
	err = retry.OnError(retry.DefaultRetry, retriable, func() error {
		signer, err := i.signer(ctx)
		if err != nil {
			return err
		}
		data, err = i.leaf(ctx, signer)
		return err
	})
	return data, err
}

func (i *Issuer) signer(ctx context.Context) (*pki.Signer, error) {
	secret, err := i.get(ctx, i.Signer)
	if err != nil {
		return nil, err
	}
	if len(secret.Data) > 0 {
		signer, err := pki.DecodeSigner(secret.Data)
		if err != nil {
			return nil, fmt.Errorf("reading Secret %s/%s: %w; delete it, and another one is made", i.Namespace, i.Signer, err)
		}
		if !signer.Expired(i.Clock.Now()) {
			return signer, nil
		}
	}
	signer, err := pki.NewSigner(i.Signer, "", i.Clock.Now())
	if err != nil {
		return nil, err
	}
	data, err := signer.Data()
	if err != nil {
		return nil, err
	}
	return signer, i.write(ctx, secret, data)
}

func (i *Issuer) leaf(ctx context.Context, signer *pki.Signer) (map[string][]byte, error) {
	secret, err := i.get(ctx, i.Secret)
	if err != nil {
		return nil, err
	}
	if _, reason := pki.Evaluate(secret.Data, i.Wanted, signer.Current, pki.DefaultTerms, i.Clock.Now()); reason == "" {
		return secret.Data, nil
	}
	leaf, err := signer.Current.Issue(i.Wanted, pki.DefaultTerms, i.Clock.Now())
	if err != nil {
		return nil, err
	}
	return leaf.Data(signer.Trust()), i.write(ctx, secret, leaf.Data(signer.Trust()))
}

// get returns an empty Secret if it does not exist.
func (i *Issuer) get(ctx context.Context, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: i.Namespace, Name: name}}
	if err := i.Reader.Get(ctx, client.ObjectKeyFromObject(secret), secret); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting Secret %s/%s: %w", i.Namespace, name, err)
	}
	return secret, nil
}

// write fails if another replica has written in the meantime.
func (i *Issuer) write(ctx context.Context, secret *corev1.Secret, data map[string][]byte) error {
	previous := secret.DeepCopy()
	secret.Data = data
	var err error
	if previous.ResourceVersion == "" {
		err = i.Client.Create(ctx, secret)
	} else {
		err = i.Client.Patch(ctx, secret, client.MergeFromWithOptions(previous, client.MergeFromWithOptimisticLock{}))
	}
	if err != nil {
		return fmt.Errorf("writing Secret %s/%s: %w", i.Namespace, secret.Name, err)
	}
	return nil
}
