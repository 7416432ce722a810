package hostedcluster

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// A userObject is what the user brought, as this pass has seen it.
type userObject struct {
	data map[string][]byte
	err  error
}

// brought returns what a reference leads to, if it is as it must be. The user's
// objects are read from the API server, each once in a pass: their contents are
// kept nowhere. That they change is told by a watch (watch.go).
func (r *Reconciler) brought(ctx context.Context, s *scope, ref reference) (map[string][]byte, error) {
	id := sourceID(ref.kind, s.hc.Namespace, *ref.name)
	got, ok := s.sources[id]
	if !ok {
		got.data, got.err = r.read(ctx, client.ObjectKey{Namespace: s.hc.Namespace, Name: *ref.name}, ref.kind)
		s.sources[id] = got
	}
	unknown, invalid := hyperv1.SecretNotFoundReason, hyperv1.InvalidSecretReason
	if ref.kind == inConfigMap {
		unknown, invalid = hyperv1.ConfigMapNotFoundReason, hyperv1.InvalidConfigMapReason
	}
	switch {
	case apierrors.IsNotFound(got.err):
		return nil, reconcile.Wait(0, unknown, "%s %s, which %s names, does not exist in namespace %s: create it", ref.kind, *ref.name, ref.field, s.hc.Namespace)
	case got.err != nil:
		return nil, fmt.Errorf("getting %s %s of %s: %w", ref.kind, *ref.name, ref.field, got.err)
	}
	wanted := map[string][]byte{}
	for _, key := range ref.keys {
		if wanted[key] = got.data[key]; len(wanted[key]) == 0 {
			return nil, reconcile.Wait(0, invalid, "%s %s, which %s names, has no key %s: add it", ref.kind, *ref.name, ref.field, key)
		}
	}
	if ref.fault != nil {
		if err := ref.fault(wanted); err != nil {
			return nil, reconcile.Wait(0, invalid, "%s %s, which %s names, cannot be used: %v", ref.kind, *ref.name, ref.field, err)
		}
	}
	return got.data, nil
}

func (r *Reconciler) read(ctx context.Context, key client.ObjectKey, kind kind) (map[string][]byte, error) {
	if kind == inSecret {
		secret := &corev1.Secret{}
		err := r.Reader.Get(ctx, key, secret)
		return secret.Data, err
	}
	cm := &corev1.ConfigMap{}
	err := r.Reader.Get(ctx, key, cm)
	return contentsOf(cm), err
}

func contentsOf(cm *corev1.ConfigMap) map[string][]byte {
	data := map[string][]byte{}
	maps.Copy(data, cm.BinaryData)
	for k, v := range cm.Data {
		data[k] = []byte(v)
	}
	return data
}

// checkEtcdClient answers for a user's own etcd.
func (r *Reconciler) checkEtcdClient(ctx context.Context, s *scope) error {
	ref := unmanagedEtcd(&s.hc.Spec)
	if ref == nil {
		return nil
	}
	_, err := r.brought(ctx, s, *ref)
	var wait *reconcile.Waiting
	if errors.As(err, &wait) {
		return reconcile.Wait(0, hyperv1.UnmanagedEtcdMisconfiguredReason, "%s", wait.Message)
	}
	return err
}
