package breakglass

import (
	"context"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

const (
	// approvedReason is the reason of condition Approved.
	approvedReason = "ApprovalPresent"
	// unusedReason is the reason of the event for an approval that does not approve the request with its name.
	unusedReason = "ApprovalNotUsed"
	// earliest is how much older than its request an approval may be. Tools create both at once, in any order. An approval that is left
	// over from a request that never existed must not approve one that another user creates later.
	earliest = 10 * time.Minute
)

// approve approves a request that has an approval. A request without one stays pending, without a hint for the user that created it.
func (r *Reconciler) approve(ctx context.Context, s *scope) error {
	if has(s.csr, certificatesv1.CertificateApproved) {
		return nil
	}
	for _, approval := range approvals() {
		err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: s.csr.Name}, approval)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("getting %T %s: %w", approval, s.csr.Name, err)
		}
		if err != nil || !approval.GetDeletionTimestamp().IsZero() {
			continue
		}
		if why := unusable(approval, s.csr); why != "" {
			r.Recorder.Eventf(approval, s.csr, corev1.EventTypeWarning, unusedReason, "ApproveCertificate", "%s: delete this approval and create it again, if you approve the request", why)
			continue
		}
		if _, err := validate(s.csr); err != nil {
			return r.fail(ctx, s, err)
		}
		if err := r.claim(ctx, approval, s.csr); err != nil {
			return err
		}
		return r.setApproved(ctx, s)
	}
	return reconcile.Wait(0, approvedReason, "waiting for a CertificateSigningRequestApproval")
}

// unusable returns why an approval does not approve a request although it has its name, or "".
func unusable(approval client.Object, csr *request) string {
	approved := approval.GetAnnotations()[hyperv1.ApprovedRequestAnnotation]
	switch {
	case approved == string(csr.UID):
		return ""
	case approved != "":
		return fmt.Sprintf("it is for an earlier CertificateSigningRequest %s, with the UID %s", csr.Name, approved)
	case csr.CreationTimestamp.After(approval.GetCreationTimestamp().Add(earliest)):
		return fmt.Sprintf("it is older than CertificateSigningRequest %s", csr.Name)
	}
	return ""
}

// claim records the request in its approval before the request is approved. The request is deleted after an hour: another one with
// its name would otherwise be approved, too.
func (r *Reconciler) claim(ctx context.Context, approval client.Object, csr *request) error {
	if approval.GetAnnotations()[hyperv1.ApprovedRequestAnnotation] == string(csr.UID) {
		return nil
	}
	before := approval.DeepCopyObject().(client.Object)
	annotations := map[string]string{hyperv1.ApprovedRequestAnnotation: string(csr.UID)}
	for key, value := range approval.GetAnnotations() {
		annotations[key] = value
	}
	approval.SetAnnotations(annotations)
	if err := r.Client.Patch(ctx, approval, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("recording CertificateSigningRequest %s in its approval: %w", csr.Name, err)
	}
	return nil
}

func (r *Reconciler) setApproved(ctx context.Context, s *scope) error {
	ctrl.LoggerFrom(ctx).Info("Approving a certificate", "request", s.csr.Name, "signer", s.csr.Spec.SignerName, "user", s.csr.Spec.Username)
	s.csr.Status.Conditions = append(s.csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: approvedReason, LastUpdateTime: metav1.NewTime(r.Clock.Now()),
		Message: fmt.Sprintf("CertificateSigningRequestApproval %s exists in namespace %s", s.csr.Name, s.hcp.Namespace),
	})
	if err := r.Client.SubResource("approval").Update(ctx, s.csr); err != nil {
		return fmt.Errorf("approving CertificateSigningRequest %s: %w", s.csr.Name, err)
	}
	return nil
}
