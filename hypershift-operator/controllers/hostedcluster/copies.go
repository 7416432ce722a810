package hostedcluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

func (s *scope) copiesSet() apply.Set {
	return apply.Set{Name: setCopies, Namespace: s.controlPlane, Kinds: []client.ObjectList{&corev1.SecretList{}, &corev1.ConfigMapList{}}}
}

// ensureCopies puts what the user brought to where pods can use it, and takes
// away what is not named any more. A source that is missing or broken leaves the
// last good copy: what runs goes on.
func (r *Reconciler) ensureCopies(ctx context.Context, s *scope) error {
	var wanted []client.Object
	var reason string
	var faults []string
	done := map[string]bool{}
	for _, ref := range references(s.hc) {
		data, source, fault, err := r.broughtOrCopied(ctx, s, ref)
		if err != nil {
			return err
		}
		if fault != nil {
			reason = cmp.Or(reason, fault.Reason)
			faults = append(faults, fault.Message)
		}
		if id := string(ref.kind) + "/" + ref.copy(); data != nil && !done[id] {
			done[id] = true
			wanted = append(wanted, s.desiredCopy(ref, source, data))
		}
	}
	kept, err := r.keptKeys(ctx, s, done)
	if err != nil {
		return err
	}
	if _, err := r.apply.Apply(ctx, s.copiesSet(), append(wanted, kept...)...); err != nil {
		return err
	}
	if len(faults) > 0 {
		return reconcile.Wait(0, reason, "%s", strings.Join(faults, "; "))
	}
	return nil
}

// broughtOrCopied is what the copy is to hold, nil if there is nothing, and of
// what it is one. A fault of that leaves what the copy holds.
func (r *Reconciler) broughtOrCopied(ctx context.Context, s *scope, ref reference) (data map[string][]byte, source string, fault *reconcile.Waiting, err error) {
	data, err = r.brought(ctx, s, ref)
	if errors.As(err, &fault) {
		data, source, err = r.lastCopy(ctx, s, ref)
		return data, source, fault, err
	}
	return data, *ref.name, nil, err
}

// lastCopy is what the copy holds, nil if there is none, and of what it is one.
func (r *Reconciler) lastCopy(ctx context.Context, s *scope, ref reference) (data map[string][]byte, source string, err error) {
	secret, cm := &corev1.Secret{}, &corev1.ConfigMap{}
	var obj client.Object = secret
	if ref.kind == inConfigMap {
		obj = cm
	}
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: ref.copy()}, obj)
	if apierrors.IsNotFound(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("getting the copy of %s %s: %w", ref.kind, *ref.name, err)
	}
	data = secret.Data
	if ref.kind == inConfigMap {
		data = contentsOf(cm)
	}
	return data, obj.GetAnnotations()[hyperv1.CopiedFromAnnotation], nil
}

// desiredCopy has all keys unless others know it by its name. It is Opaque whatever the source is: the type of a Secret cannot be
// changed, and the user may make the source again with another.
func (s *scope) desiredCopy(ref reference, source string, data map[string][]byte) client.Object {
	if ref.fixed != "" {
		data = only(data, ref.keys)
	}
	if ref.kind == inSecret {
		secret := s.desiredSecret(ref.copy(), corev1.SecretTypeOpaque, data)
		secret.Annotations[hyperv1.CopiedFromAnnotation] = source
		return secret
	}
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.controlPlane, Name: ref.copy(), Annotations: s.ownerAnnotations()},
		Data:       map[string]string{}, BinaryData: map[string][]byte{},
	}
	cm.Annotations[hyperv1.CopiedFromAnnotation] = source
	for key, value := range data {
		if utf8.Valid(value) {
			cm.Data[key] = string(value)
		} else {
			cm.BinaryData[key] = value
		}
	}
	return cm
}

// only is the part of data under the keys.
func only(data map[string][]byte, keys []string) map[string][]byte {
	part := map[string][]byte{}
	for _, key := range keys {
		part[key] = data[key]
	}
	return part
}

// withCopies returns the spec with the names of the copies in the place of
// those of the user's objects.
func withCopies(hc *hyperv1.HostedCluster) *hyperv1.HostedClusterSpec {
	changed := hc.DeepCopy()
	spec := &changed.Spec
	refs := append(references(changed), pullSecretOf(spec))
	if spec.ServiceAccountSigningKey != nil {
		refs = append(refs, signingKeyOf(spec))
	}
	for _, ref := range refs {
		*ref.name = ref.copy()
	}
	return spec
}
