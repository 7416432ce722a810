package breakglass

import (
	"context"
	"fmt"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

const (
	// failedReason is the reason of condition Failed.
	failedReason = "SignerValidationFailure"
	// issuedReason is the reason of the event for a certificate.
	issuedReason = "BreakGlassCertificateIssued"
	// retryAfter is how soon a missing authority is looked up again. Secrets are not watched.
	retryAfter = 10 * time.Second
)

// sign signs an approved request. Who may approve requests of this signer without an approval object, as an administrator of the management
// cluster may, is trusted with the authority, but not with another kind of certificate.
func (r *Reconciler) sign(ctx context.Context, s *scope) error {
	wanted, err := validate(s.csr)
	if err != nil {
		return r.fail(ctx, s, err)
	}
	secret := &corev1.Secret{}
	err = r.Reader.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.CustomerBreakGlassSigner}, secret)
	if apierrors.IsNotFound(err) {
		return reconcile.Wait(retryAfter, failedReason, "waiting for Secret %s", names.CustomerBreakGlassSigner)
	}
	if err != nil {
		return fmt.Errorf("getting Secret %s/%s: %w", s.hcp.Namespace, names.CustomerBreakGlassSigner, err)
	}
	signer, err := pki.DecodeSigner(secret.Data)
	now := r.Clock.Now()
	if err != nil || signer.Expired(now) {
		ctrl.LoggerFrom(ctx).Info("The authority cannot sign", "controlPlane", s.hcp.Namespace, "secret", secret.Name, "error", fmt.Sprint(err))
		return reconcile.Wait(retryAfter, failedReason, "waiting for the repair of Secret %s", names.CustomerBreakGlassSigner)
	}
	certificate, err := signer.Issuer().Certify(wanted.key, wanted.Request, pki.Terms{Validity: wanted.validity}, now)
	if err != nil {
		return err
	}
	s.csr.Status.Certificate = pki.Bundle(certificate)
	if err := r.Client.Status().Update(ctx, s.csr); err != nil {
		return fmt.Errorf("writing the certificate of CertificateSigningRequest %s: %w", s.csr.Name, err)
	}
	r.Recorder.Eventf(s.hcp, s.csr, corev1.EventTypeNormal, issuedReason, "SignCertificate", "CertificateSigningRequest %s of %s has a certificate for %s, groups %q, that is valid until %s",
		s.csr.Name, s.csr.Spec.Username, wanted.User, strings.Join(wanted.Groups, ", "), certificate.NotAfter.UTC().Format(time.RFC3339))
	return nil
}

// fail ends a request that cannot be signed. Requests are immutable.
func (r *Reconciler) fail(ctx context.Context, s *scope, why error) error {
	s.csr.Status.Conditions = append(s.csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue, Reason: failedReason, Message: why.Error(), LastUpdateTime: metav1.NewTime(r.Clock.Now()),
	})
	if err := r.Client.Status().Update(ctx, s.csr); err != nil {
		return fmt.Errorf("writing the status of CertificateSigningRequest %s: %w", s.csr.Name, err)
	}
	return reconcile.Block(failedReason, "%v", why)
}
