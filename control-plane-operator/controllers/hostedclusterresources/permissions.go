package hostedclusterresources

import (
	"context"
	"fmt"
	"time"

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

// permissions say who may do what in the hosted cluster. We ourselves may look
// at them and not change them: else, we could do anything. Who changes them is
// somebody who lives for ten minutes.
var permissions = part{
	name:    "permissions",
	kinds:   []client.ObjectList{&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}},
	desired: desiredPermissions,
}

// desiredPermissions grants what deletes things only when things are to be deleted,
// and what writes Secrets only while these are re-encrypted.
func desiredPermissions(_ *Reconciler, _ context.Context, s *scope) ([]client.Object, error) {
	files := []string{"permissions.yaml", "permissions-nodes.yaml"}
	if s.cleaning() {
		files = append(files, "permissions-cleanup.yaml")
	}
	if secretencryption.Rewrites(s.hcp.Status.SecretEncryption) {
		files = append(files, "permissions-encryption.yaml")
	}
	return assets(files...)
}

// ensurePermissions makes the permissions what they should be.
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
		// API servers hear of new permissions a moment later.
		return reconcile.Wait(300*time.Millisecond, hyperv1.WaitingForPermissionsReason, "permissions have been set up and take effect in a moment")
	})
}

// The certificate with which permissions are set up. Nobody stores it.
const (
	masterUser  = "hypershift:permissions"
	masterGroup = "system:masters"
	masterLife  = 10 * time.Minute
)

// master enters the hosted cluster as somebody who may do anything.
func (r *Reconciler) master(ctx context.Context, s *scope) (client.Client, error) {
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.ClientSigner}, secret)
	if apierrors.IsNotFound(err) {
		return nil, reconcile.Wait(lookAgain, hyperv1.PermissionsMissingReason,
			"the identity in Secret %s lacks permissions in the hosted cluster, and there is no Secret %s to give them with", names.ControlPlaneOperatorKubeconfig, names.ClientSigner)
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
