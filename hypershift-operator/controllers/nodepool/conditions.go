package nodepool

import (
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

var words = reconcile.Classifier{
	// An answer of the API server, such as a conflict, says nothing about the pool.
	Transient: func(err error) bool {
		return awsx.IsTransient(err) || release.IsUnreachable(err) || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown
	},
	Reason: func(err error) string {
		if release.KindOf(err) != "" {
			return hyperv1.InvalidImageReason
		}
		return awsx.Reason(err)
	},
	Message: awsx.Message,
}

// saying is what an error of a step is to the user.
func saying(err error) (reason, message string) {
	var wait *reconcile.Waiting
	var block *reconcile.Blocked
	switch {
	case errors.As(err, &wait):
		return wait.Reason, wait.Message
	case errors.As(err, &block):
		return block.Reason, block.Message
	}
	return words.Reason(err), words.Message(err)
}

// board is the conditions of a pool while they are being written, in the form
// that package reconcile knows. A NodePool has a type of its own for them.
//
// A condition may be set more than once on the way: what a step says is not the
// last word about it. Only where it ends counts as a turn.
type board struct {
	conds, before []metav1.Condition
	generation    int64
	now           time.Time
}

func newBoard(np *hyperv1.NodePool, now time.Time) *board {
	b := &board{generation: np.Generation, now: now}
	for _, c := range np.Status.Conditions {
		b.conds = append(b.conds, metav1.Condition{
			Type: c.Type, Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
			LastTransitionTime: c.LastTransitionTime, ObservedGeneration: c.ObservedGeneration,
		})
	}
	b.before = slices.Clone(b.conds)
	return b
}

func (b *board) set(condition string, status metav1.ConditionStatus, reason, message string) {
	reconcile.SetCondition(&b.conds, metav1.Condition{
		Type: condition, Status: status, Reason: clip(reason, maxReason), Message: clip(message, maxMessage), ObservedGeneration: b.generation,
	}, b.now)
}

func (b *board) is(condition string) bool { return meta.IsStatusConditionTrue(b.conds, condition) }

// What the API takes.
const (
	maxReason  = 1024
	maxMessage = 32768
)

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return text[:most]
}

func (b *board) conditions() []hyperv1.NodePoolCondition {
	var out []hyperv1.NodePoolCondition
	for _, c := range b.conds {
		if was := meta.FindStatusCondition(b.before, c.Type); was != nil && was.Status == c.Status {
			c.LastTransitionTime = was.LastTransitionTime
		}
		out = append(out, hyperv1.NodePoolCondition{
			Type: c.Type, Status: corev1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
			LastTransitionTime: c.LastTransitionTime, ObservedGeneration: c.ObservedGeneration,
		})
	}
	return out
}
