package hostedcluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
)

// ensurePullSecret copies the user's pull secret to where pods can use it.
func (r *Reconciler) ensurePullSecret(ctx context.Context, s *scope) error {
	ref := pullSecretOf(&s.hc.Spec)
	data, err := r.brought(ctx, s, ref)
	if err != nil {
		return err
	}
	_, err = r.apply.Apply(ctx, s.secretsSet(setPullSecret), s.desiredSecret(ref.copy(), corev1.SecretTypeDockerConfigJson, only(data, ref.keys)))
	return err
}

// secretsSet is a group of Secrets in the control plane's namespace.
func (s *scope) secretsSet(name string) apply.Set {
	return apply.Set{Name: name, Namespace: s.controlPlane, Kinds: []client.ObjectList{&corev1.SecretList{}}}
}

func (s *scope) desiredSecret(name string, kind corev1.SecretType, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.controlPlane, Name: name, Annotations: s.ownerAnnotations()},
		Type:       kind,
		Data:       data,
	}
}

// ownerAnnotations lead from an object in the control plane's namespace to its cluster.
func (s *scope) ownerAnnotations() map[string]string {
	return map[string]string{hyperv1.HostedClusterAnnotation: clusterKey(s.hc)}
}
