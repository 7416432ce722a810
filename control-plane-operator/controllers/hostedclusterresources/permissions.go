package hostedclusterresources

import (
	"context"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
)

// permissions are the RBAC objects in the hosted cluster, and admission policies that restrict them further. The operator's usual identity can read but not change them,
// because otherwise it could do anything. They are changed with a certificate that is valid for ten minutes.
var permissions = part{
	name: "permissions",
	kinds: []client.ObjectList{
		&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{},
		&admissionregistrationv1.ValidatingAdmissionPolicyList{}, &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{},
	},
	desired: desiredPermissions,
}

// desiredPermissions grants the deletion of user objects only during the cleanup, and writes of Secrets only during
// their re-encryption.
func desiredPermissions(_ *Reconciler, _ context.Context, s *scope) ([]client.Object, error) {
	files := []string{"permissions.yaml", "permissions-nodes.yaml"}
	if s.hcp.Annotations[hyperv1.ClusterAutoscalerAnnotation] == yes {
		files = append(files, "permissions-autoscaler.yaml")
	}
	if s.hcp.Spec.AutoNode.Karpenter() != nil {
		files = append(files, "permissions-karpenter.yaml")
	}
	if s.cleaning() {
		files = append(files, "permissions-cleanup.yaml")
	}
	if s.hcp.Spec.Networking.UsesPodNetworkOfRelease() {
		files = append(files, "permissions-pod-network.yaml")
	}
	if secretencryption.Rewrites(s.hcp.Status.SecretEncryptionRecord) {
		files = append(files, "permissions-encryption.yaml")
	}
	return assets(files...)
}

// ensurePermissions reconciles the permissions.
func (r *Reconciler) ensurePermissions(ctx context.Context, s *scope) error {
	return r.ensureBy(ctx, s, permissions, func(objs []client.Object) error {
		_, err := s.hosted.apply.Apply(ctx, permissions.set(), objs...)
		if !apierrors.IsForbidden(err) {
			return err
		}
		master, err := r.master(ctx, s)
		if err != nil {
			return err
		}
		if _, err = apply.New(master, r.Scheme, names.ControlPlaneOperator).Apply(ctx, permissions.set(), objs...); err != nil {
			return fmt.Errorf("setting up permissions: %w", err)
		}
		// API servers observe new permissions with a delay.
		return reconcile.Wait(300*time.Millisecond, hyperv1.WaitingForPermissionsReason, "waiting until the new permissions take effect")
	})
}

// The certificate with which permissions are set up. It is never stored.
const (
	masterUser  = "hypershift:permissions"
	masterGroup = "system:masters"
	masterLife  = 10 * time.Minute
)

// master returns a client with all permissions in the hosted cluster.
func (r *Reconciler) master(ctx context.Context, s *scope) (client.Client, error) {
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.ClientSigner}, secret)
	if apierrors.IsNotFound(err) {
		return nil, reconcile.Wait(pollInterval, hyperv1.PermissionsMissingReason,
			"the identity in Secret %s lacks permissions in the hosted cluster, and Secret %s, which is needed to grant them, does not exist", names.ControlPlaneOperatorKubeconfig, names.ClientSigner)
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", names.ClientSigner, err)
	}
	signer, err := pki.DecodeSigner(secret.Data)
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", names.ClientSigner, err)
	}
	leaf, err := signer.Current.Issue(pki.Request{User: masterUser, Groups: []string{masterGroup}, Usage: pki.Client}, pki.Terms{Validity: masterLife}, r.Clock.Now())
	if err != nil {
		return nil, fmt.Errorf("signing with Secret %s: %w", names.ClientSigner, err)
	}
	config := rest.AnonymousClientConfig(s.hosted.config)
	config.CertData, config.KeyData = leaf.CertPEM, leaf.KeyPEM
	return r.Open(config)
}
