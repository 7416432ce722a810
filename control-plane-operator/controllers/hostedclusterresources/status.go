package hostedclusterresources

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// ours are the conditions that this controller writes.
var ours = []string{hyperv1.ConfigOperatorReconciliationSucceeded, hyperv1.CloudResourcesDestroyed, hyperv1.DataPlaneConnectionAvailable, hyperv1.KubeletServingCertificatesSigned}

// statusPart is the part of the status that this controller writes.
type statusPart struct {
	NodeCount  *int32             `json:"nodeCount,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

func ourStatus(hcp *hyperv1.HostedControlPlane) any {
	part := statusPart{NodeCount: hcp.Status.NodeCount}
	for _, t := range ours {
		if c := meta.FindStatusCondition(hcp.Status.Conditions, t); c != nil {
			part.Conditions = append(part.Conditions, *c)
		}
	}
	return part
}

// words puts errors of an API server into conditions. That nobody answers is no
// statement about what is inside.
var words = reconcile.Classifier{
	Transient: func(err error) bool {
		var said apierrors.APIStatus
		return !errors.As(err, &said)
	},
	Reason:  func(error) string { return hyperv1.ReconcileErrorReason },
	Message: func(err error) string { return err.Error() },
}

// summarize says in one condition whether all is inside that should be, and in
// another one, at the end, whether all is gone that should not stay.
func (r *Reconciler) summarize(s *scope, report reconcile.Report) {
	condition := hyperv1.ConfigOperatorReconciliationSucceeded
	if s.cleaning() {
		if condition = hyperv1.CloudResourcesDestroyed; !s.looked {
			return // what is there to remove nobody knows, and the hypershift-operator says so
		}
	}
	conds := &s.hcp.Status.Conditions
	*conds = reconcile.FromReport(report.As(condition), words, *conds, s.hcp.Generation, r.Clock.Now())
}
