package certificaterevocation

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/hosted-control-planes/hypershift/api/certificates/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// checkClass refuses classes that the CRD of another version may permit.
func (r *Reconciler) checkClass(_ context.Context, s *scope) error {
	if s.crr.Spec.SignerClass != certificatesv1alpha1.CustomerBreakGlass {
		return reconcile.Block(certificatesv1alpha1.SignerClassUnknownReason,
			"spec.signerClass %q is unknown: create a request with %s", s.crr.Spec.SignerClass, certificatesv1alpha1.CustomerBreakGlass)
	}
	return nil
}

// regenerate stores the previous authority, which lets the components controller create the next one, and waits for it.
func (r *Reconciler) regenerate(ctx context.Context, s *scope) error {
	const stale = certificatesv1alpha1.RootCertificatesStaleReason
	if s.hcp.Annotations[hyperv1.DisablePKIReconciliationAnnotation] == enabled {
		return reconcile.Block(stale, "annotation %s stops the operator from replacing authorities: remove it, or replace Secret %s and its certificate in ConfigMap %s yourself",
			hyperv1.DisablePKIReconciliationAnnotation, names.CustomerBreakGlassSigner, names.ClientCA)
	}
	if s.first != nil && s.first.UID != s.crr.UID {
		return reconcile.Wait(interval, stale, "waiting for CertificateRevocationRequest %s", s.first.Name)
	}
	if paused, remaining := s.hcp.Spec.PausedUntil.Paused(r.Clock.Now()); paused {
		return reconcile.Wait(remaining, hyperv1.PausedReason, "the HostedCluster is paused: remove spec.pausedUntil to continue")
	}
	secret := &corev1.Secret{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.crr.Namespace, Name: names.CustomerBreakGlassSigner}, secret)
	if apierrors.IsNotFound(err) {
		return reconcile.Wait(interval, stale, "waiting for Secret %s", names.CustomerBreakGlassSigner)
	}
	if err != nil {
		return fmt.Errorf("getting Secret %s: %w", names.CustomerBreakGlassSigner, err)
	}
	if s.signer, err = pki.DecodeSigner(secret.Data); err != nil {
		return reconcile.Wait(interval, stale, "Secret %s is not readable (%v): waiting for its repair", names.CustomerBreakGlassSigner, err)
	}
	if s.crr.Status.PreviousSigner == nil {
		if err := r.storePrevious(ctx, s, secret); err != nil {
			return err
		}
	}
	if id := string(s.crr.UID); !s.signer.Revoking(id) || !s.signer.Revoked(id) && s.signer.Next == nil {
		return reconcile.Wait(interval, stale, "waiting for the next certificate authority in Secret %s", names.CustomerBreakGlassSigner)
	}
	return nil
}

// storePrevious copies the authority that signs. The end of the revocation is verified with its key.
func (r *Reconciler) storePrevious(ctx context.Context, s *scope, signer *corev1.Secret) error {
	previous := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.crr.Namespace, Name: setPrevious + "-" + string(s.crr.UID)}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: signer.Data[corev1.TLSCertKey], corev1.TLSPrivateKeyKey: signer.Data[corev1.TLSPrivateKeyKey]},
	}
	// A revocation that has begun has a copy, even if this status is too old to name it. A second copy would replace it by the next authority.
	if !s.signer.Revoking(string(s.crr.UID)) {
		set := apply.Set{Name: setPrevious, Namespace: s.crr.Namespace, Parent: s.crr, Kinds: []client.ObjectList{&corev1.SecretList{}}}
		if _, err := r.apply.Apply(ctx, set, previous); err != nil {
			return err
		}
	}
	if s.crr.Status.RevocationTimestamp == nil {
		now := metav1.NewTime(r.Clock.Now())
		s.crr.Status.RevocationTimestamp = &now
	}
	s.crr.Status.PreviousSigner = &corev1.LocalObjectReference{Name: previous.Name}
	return nil
}

// verifyTrust waits until every API server accepts the next authority.
func (r *Reconciler) verifyTrust(ctx context.Context, s *scope) error {
	if s.signer.Revoked(string(s.crr.UID)) {
		return nil // it signs already
	}
	return r.verify(ctx, s, s.signer.Next, true, "does not accept certificates of the next authority yet")
}

// checkLeaves waits until the next authority signs, and the operator's own certificate is one of it.
func (r *Reconciler) checkLeaves(ctx context.Context, s *scope) error {
	const stale = certificatesv1alpha1.LeafCertificatesStaleReason
	if !s.signer.Revoked(string(s.crr.UID)) {
		return reconcile.Wait(interval, stale, "waiting for the next authority to sign")
	}
	secret := &corev1.Secret{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.crr.Namespace, Name: names.CustomerBreakGlassCertificate}, secret)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("getting Secret %s: %w", names.CustomerBreakGlassCertificate, err)
	}
	certs, unreadable := pki.ParseBundle(secret.Data[corev1.TLSCertKey])
	if err != nil || unreadable != nil || certs[0].CheckSignatureFrom(s.signer.Current.Certificate) != nil {
		return reconcile.Wait(interval, stale, "waiting for a new certificate in Secret %s", names.CustomerBreakGlassCertificate)
	}
	return nil
}

// verifyRevocation waits until every API server refuses the previous authority and accepts the new one.
func (r *Reconciler) verifyRevocation(ctx context.Context, s *scope) error {
	name := s.crr.Status.PreviousSigner.Name
	secret := &corev1.Secret{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.crr.Namespace, Name: name}, secret)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("getting Secret %s: %w", name, err)
	}
	previous, unreadable := pki.DecodeAuthority(secret.Data)
	if err != nil || unreadable != nil {
		return reconcile.Block(certificatesv1alpha1.PreviousSignerMissingReason,
			"Secret %s with the previous authority is gone or unreadable, so that the revocation cannot be verified: delete this request and create another one", name)
	}
	if s.signer.Trusts(previous.Certificate) {
		return reconcile.Wait(interval, hyperv1.WaitingForAvailableReason, "waiting for the removal of the previous authority from ConfigMap %s", names.ClientCA)
	}
	if err := r.verify(ctx, s, previous, false, "still accepts certificates of the previous authority"); err != nil {
		return err
	}
	return r.verify(ctx, s, s.signer.Current, true, "does not accept certificates of the new authority")
}
