package nodepool

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

var classifier = reconcile.Classifier{
	// An answer of the API server, such as a conflict, is no evidence about the pool.
	Transient: func(err error) bool {
		return awsx.IsTransient(err) || release.IsUnreachable(err) || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown
	},
	Reason: func(err error) string {
		if release.KindOf(err) != "" {
			return hyperv1.InvalidImageReason
		}
		return awsx.Reason(err)
	},
}

// A conditionBuilder sets the conditions that no single step of a pool sets.
type conditionBuilder struct{ *reconcile.Conditions }
