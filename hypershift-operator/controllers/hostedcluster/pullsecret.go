package hostedcluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/flow"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// secretPause is how soon to look again for a Secret that the user has yet to
// make. The user's Secrets are not watched: that would keep all Secrets of the
// management cluster in memory.
const secretPause = 30 * time.Second

// ensurePullSecret copies the user's pull secret to where pods can use it.
func (r *Reconciler) ensurePullSecret(ctx context.Context, s *scope) error {
	data, err := r.userSecret(ctx, s, s.hc.Spec.PullSecret.Name, "spec.pullSecret", corev1.DockerConfigJsonKey)
	if err != nil {
		return err
	}
	_, err = r.apply.Apply(ctx, s.secretsSet(setPullSecret), s.desiredSecret(names.PullSecret, corev1.SecretTypeDockerConfigJson,
		map[string][]byte{corev1.DockerConfigJsonKey: data[corev1.DockerConfigJsonKey]}))
	return err
}

// userSecret reads a Secret beside the HostedCluster, which must have the key.
func (r *Reconciler) userSecret(ctx context.Context, s *scope, name, field, key string) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.hc.Namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, flow.Wait(secretPause, hyperv1.SecretNotFoundReason, "Secret %s, which %s names, does not exist in namespace %s: create it", name, field, s.hc.Namespace)
	case err != nil:
		return nil, fmt.Errorf("getting Secret %s of %s: %w", name, field, err)
	case len(secret.Data[key]) == 0:
		return nil, flow.Wait(secretPause, hyperv1.InvalidSecretReason, "Secret %s, which %s names, has no key %s: add it", name, field, key)
	}
	return secret.Data, nil
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
