package hostedcluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/apply"
)

// ensurePullSecret copies the user's pull secret to where pods can use it.
func (r *Reconciler) ensurePullSecret(ctx context.Context, s *scope) error {
	secret, err := s.objects.PullSecret(ctx, &s.hc.Spec)
	if err != nil {
		return err
	}
	_, err = r.apply.Apply(ctx, s.secretsSet(setPullSecret), secret)
	return err
}

// ensureCopies copies all other objects of the user to where pods can use them,
// and removes copies that the spec no longer names.
func (r *Reconciler) ensureCopies(ctx context.Context, s *scope) error {
	var inUse *hyperv1.SecretEncryptionRecord
	if s.hcp != nil {
		inUse = s.hcp.Status.SecretEncryptionRecord
	}
	copies, fault, err := s.objects.Copies(ctx, s.hc, inUse)
	if err != nil {
		return err
	}
	if _, err := r.apply.Apply(ctx, s.plane.Set(setCopies, &corev1.SecretList{}, &corev1.ConfigMapList{}), copies...); err != nil {
		return err
	}
	if fault != nil {
		return fault
	}
	return nil
}

func (r *Reconciler) checkProxyTrust(ctx context.Context, s *scope) error {
	return s.objects.CheckProxyTrust(ctx, &s.hc.Spec, r.Clock.Now())
}

func (r *Reconciler) checkEtcdClient(ctx context.Context, s *scope) error {
	return s.objects.CheckEtcdClient(ctx, &s.hc.Spec)
}

// secretsSet is a group of Secrets in the control plane's namespace.
func (s *scope) secretsSet(name string) apply.Set {
	return s.plane.Set(name, &corev1.SecretList{})
}

// checkCredentials checks that the roles exist which programs of the control plane assume.
func (r *Reconciler) checkCredentials(_ context.Context, s *scope) error {
	return controlplane.CheckRoles(s.hc.Spec.Platform)
}

// ensurePublishedSecrets gives the user the Secrets that the control plane has for
// users.
func (r *Reconciler) ensurePublishedSecrets(ctx context.Context, s *scope) error {
	return r.users.Publish(ctx, s.hc, s.hcp)
}
