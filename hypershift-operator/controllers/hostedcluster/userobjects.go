package hostedcluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
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

// ensureCredentials writes one AWS configuration file for each role.
func (r *Reconciler) ensureCredentials(ctx context.Context, s *scope) error {
	spec := s.hc.Spec
	spec.AutoNode, _ = s.autoNode()
	nodes, err := r.hasOrHadNodes(ctx, s, spec.AutoNode)
	if err != nil {
		return err
	}
	secrets, err := controlplane.Credentials(s.plane, &spec, nodes)
	if err != nil {
		return err
	}
	_, err = r.apply.Apply(ctx, s.secretsSet(setCredentials), secrets...)
	return err
}

// hasOrHadNodes reports whether the cluster has or had nodes, or is about to get some. The components
// for nodes stay when the last one is gone, so their Secrets stay, too.
func (r *Reconciler) hasOrHadNodes(ctx context.Context, s *scope, onDemand *hyperv1.AutoNode) (bool, error) {
	if s.workers || onDemand.Karpenter() != nil || s.hcp != nil && ptr.Deref(s.hcp.Status.NodeCount, 0) > 0 {
		return true, nil
	}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.plane.Name, Name: names.NodeManagementCredentials}, &corev1.Secret{})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("getting Secret %s: %w", names.NodeManagementCredentials, err)
	}
	return err == nil, nil
}

// ensurePublishedSecrets gives the user the Secrets that the control plane has for
// users.
func (r *Reconciler) ensurePublishedSecrets(ctx context.Context, s *scope) error {
	return r.users.Publish(ctx, s.hc, s.hcp)
}
