package userobjects

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// A Reader reads the objects of one HostedCluster's user during one reconcile,
// each of them once. It must not be used after the reconcile, nor concurrently.
type Reader struct {
	live, cached client.Reader
	namespace    controlplane.Namespace
	seen         map[string]content
}

type content struct {
	data map[string][]byte
	err  error
}

// NewReader returns a Reader. live reads the objects of users; cached reads their copies.
func NewReader(live, cached client.Reader, namespace controlplane.Namespace) *Reader {
	return &Reader{live: live, cached: cached, namespace: namespace, seen: map[string]content{}}
}

// Read returns the data of an object. An object that is missing or invalid is a
// *reconcile.Waiting, because a watch (watch.go) reports its change.
func (r *Reader) Read(ctx context.Context, ref Reference) (map[string][]byte, error) {
	key := client.ObjectKey{Namespace: r.namespace.Cluster.Namespace, Name: *ref.Name}
	id := sourceID(ref.Kind, key.Namespace, key.Name)
	got, ok := r.seen[id]
	if !ok {
		got.data, got.err = r.get(ctx, key, ref.Kind)
		r.seen[id] = got
	}
	missing, invalid := hyperv1.SecretNotFoundReason, hyperv1.InvalidSecretReason
	if ref.Kind == ConfigMap {
		missing, invalid = hyperv1.ConfigMapNotFoundReason, hyperv1.InvalidConfigMapReason
	}
	switch {
	case apierrors.IsNotFound(got.err):
		return nil, reconcile.Wait(0, missing, "%s %s, which %s names, does not exist in namespace %s: create it", ref.Kind, key.Name, ref.Field, key.Namespace)
	case got.err != nil:
		return nil, fmt.Errorf("getting %s %s of %s: %w", ref.Kind, key.Name, ref.Field, got.err)
	}
	required := map[string][]byte{}
	for _, key := range ref.Keys {
		if required[key] = got.data[key]; len(required[key]) == 0 {
			return nil, reconcile.Wait(0, invalid, "%s %s, which %s names, has no key %s: add it", ref.Kind, *ref.Name, ref.Field, key)
		}
	}
	if ref.validate != nil {
		if err := ref.validate(required); err != nil {
			return nil, reconcile.Wait(0, invalid, "%s %s, which %s names, cannot be used: %v", ref.Kind, key.Name, ref.Field, err)
		}
	}
	return got.data, nil
}

func (r *Reader) get(ctx context.Context, key client.ObjectKey, kind Kind) (map[string][]byte, error) {
	if kind == Secret {
		secret := &corev1.Secret{}
		err := r.live.Get(ctx, key, secret)
		return secret.Data, err
	}
	cm := &corev1.ConfigMap{}
	err := r.live.Get(ctx, key, cm)
	return dataOf(cm), err
}

func dataOf(cm *corev1.ConfigMap) map[string][]byte {
	data := map[string][]byte{}
	maps.Copy(data, cm.BinaryData)
	for k, v := range cm.Data {
		data[k] = []byte(v)
	}
	return data
}

// CheckEtcdClient checks the credentials of an unmanaged etcd.
func (r *Reader) CheckEtcdClient(ctx context.Context, spec *hyperv1.HostedClusterSpec) error {
	ref := unmanagedEtcd(spec)
	if ref == nil {
		return nil
	}
	_, err := r.Read(ctx, *ref)
	var wait *reconcile.Waiting
	if errors.As(err, &wait) {
		return reconcile.Wait(0, hyperv1.UnmanagedEtcdMisconfiguredReason, "%s", wait.Message)
	}
	return err
}

// CheckProxyTrust checks that no certificate authority of the proxy has expired:
// requests through the proxy would fail.
func (r *Reader) CheckProxyTrust(ctx context.Context, spec *hyperv1.HostedClusterSpec, now time.Time) error {
	ref := proxyTrust(spec)
	if ref == nil {
		return nil
	}
	data, err := r.Read(ctx, *ref)
	if err != nil {
		return err
	}
	certs, err := pki.ParseBundle(data[TrustBundleKey])
	if err != nil {
		return err
	}
	for _, cert := range certs {
		if now.After(cert.NotAfter) {
			return reconcile.Wait(0, hyperv1.InvalidConfigMapReason, "ConfigMap %s, which %s names, has a certificate of %q that expired on %s: replace it",
				*ref.Name, ref.Field, cert.Subject, cert.NotAfter.UTC().Format("2006-01-02"))
		}
	}
	return nil
}
