package objects

import (
	"context"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
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
var permissions = Set{
	Name: "permissions",
	Kinds: []client.ObjectList{
		&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{},
		&admissionregistrationv1.ValidatingAdmissionPolicyList{}, &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{},
	},
	Desired: desiredPermissions,
}

// desiredPermissions grants the deletion of user objects only during the cleanup, writes of Secrets only during their
// re-encryption, and lists of Secrets only while an old key of their tokens could be retired.
func desiredPermissions(_ context.Context, b *Builder) ([]client.Object, error) {
	files := []string{"permissions.yaml", "permissions-nodes.yaml"}
	if b.HCP.Annotations[hyperv1.ClusterAutoscalerAnnotation] == "true" {
		files = append(files, "permissions-autoscaler.yaml")
	}
	if b.HCP.Spec.AutoNode.Karpenter() != nil {
		files = append(files, "permissions-karpenter.yaml")
	}
	if b.HCP.HasIngress() {
		files = append(files, "permissions-ingress.yaml")
	}
	if b.HCP.HasImageRegistry() {
		files = append(files, "permissions-image-registry.yaml")
	}
	if b.Emptying {
		files = append(files, "permissions-cleanup.yaml")
	}
	if b.HCP.Spec.Networking.UsesPodNetworkOfRelease() {
		files = append(files, "permissions-pod-network.yaml")
	}
	if secretencryption.Rewrites(b.HCP.Status.SecretEncryptionRecord) {
		files = append(files, "permissions-encryption.yaml")
	}
	if ChecksTokens(b.HCP) {
		files = append(files, "permissions-signingkeys.yaml")
	}
	return assets(files...)
}

// ChecksTokens reports whether the operator looks for tokens of old keys of service accounts.
func ChecksTokens(hcp *hyperv1.HostedControlPlane) bool {
	return hcp.Status.ServiceAccountKeys != nil && ptr.Deref(hcp.Status.ServiceAccountKeys.ChecksTokens, false)
}

// EnsurePermissions reconciles the permissions. It waits, by reconcile.Wait, until new ones take effect.
func (b *Builder) EnsurePermissions(ctx context.Context) error {
	return b.ensureBy(ctx, permissions, func(objs []client.Object) error {
		_, err := b.Cluster.Applier.Apply(ctx, permissions.applySet(), objs...)
		if !apierrors.IsForbidden(err) {
			return err
		}
		master, err := b.master(ctx)
		if err != nil {
			return err
		}
		if _, err = master.Apply(ctx, permissions.applySet(), objs...); err != nil {
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

// master returns an applier with all permissions in the hosted cluster.
func (b *Builder) master(ctx context.Context) (*apply.Applier, error) {
	secret := &corev1.Secret{}
	err := b.Client.Get(ctx, client.ObjectKey{Namespace: b.HCP.Namespace, Name: names.ClientSigner}, secret)
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
	leaf, err := signer.Current.Issue(pki.Request{User: masterUser, Groups: []string{masterGroup}, Usage: pki.Client}, pki.Terms{Validity: masterLife}, b.Clock.Now())
	if err != nil {
		return nil, fmt.Errorf("signing with Secret %s: %w", names.ClientSigner, err)
	}
	return b.Cluster.As(leaf)
}
