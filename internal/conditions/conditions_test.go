package conditions_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/hosted-control-planes/hypershift/internal/conditions"
	"github.com/hosted-control-planes/hypershift/internal/flow"
)

var (
	errThrottled = errors.New("throttled")
	errDenied    = errors.New("denied")
	errRace      = apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "a", errors.New("newer"))

	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	later = noon.Add(time.Hour)

	judge = conditions.Judge{
		Transient: func(err error) bool { return errors.Is(err, errThrottled) },
		Reason:    func(err error) string { return "Because" },
		Message:   func(err error) string { return err.Error() },
	}
)

func condition(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: "Ready", Status: status, Reason: reason, Message: message,
		ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(noon)}
}

func TestFromReport(t *testing.T) {
	isTrue := condition(metav1.ConditionTrue, "AsExpected", "All is well")
	isFalse := condition(metav1.ConditionFalse, "Because", "denied")
	stoppedBy := func(err error) flow.Outcome {
		return flow.Outcome{Step: "it", Condition: "Ready", Stopper: &flow.Outcome{Step: "earlier", Err: err}}
	}
	said := func(err error) flow.Outcome { return flow.Outcome{Step: "it", Condition: "Ready", Err: err} }
	for name, tc := range map[string]struct {
		outcome  flow.Outcome
		previous []metav1.Condition
		want     metav1.Condition // its transition time tells whether the status changed
	}{
		"success is True":                {said(nil), nil, at(later, isTrue)},
		"what stays True keeps its time": {said(nil), []metav1.Condition{isTrue}, isTrue},
		"a wait is False with its own words": {
			said(flow.Wait(time.Second, "Pending", "it is pending")), []metav1.Condition{isTrue},
			at(later, condition(metav1.ConditionFalse, "Pending", "it is pending")),
		},
		"a block is False with its own words": {
			said(flow.Block("Bad", "change it")), nil, at(later, condition(metav1.ConditionFalse, "Bad", "change it")),
		},
		"an error is False with the judge's words":     {said(errDenied), nil, at(later, isFalse)},
		"a throttle says nothing against what is True": {said(errThrottled), []metav1.Condition{isTrue}, isTrue},
		"a throttle does not keep a False that may be old": {
			said(errThrottled), []metav1.Condition{isFalse}, at(later, condition(metav1.ConditionUnknown, "Because", "throttled")),
		},
		"a lost race says nothing": {said(errRace), []metav1.Condition{isTrue}, isTrue},
		"what did not run is Unknown, and says why if nobody else does": {
			stoppedBy(errDenied), []metav1.Condition{isTrue}, at(later, condition(metav1.ConditionUnknown, "WaitingFor", "waiting for earlier: denied")),
		},
		"what did not run leaves the words to the condition of what stopped it": {
			flow.Outcome{Step: "it", Condition: "Ready", Stopper: &flow.Outcome{Step: "earlier", Condition: "Valid", Err: errDenied}}, nil,
			at(later, condition(metav1.ConditionUnknown, "WaitingFor", "waiting for earlier")),
		},
		"what did not run because of a throttle stays as it was": {stoppedBy(errThrottled), []metav1.Condition{isTrue}, isTrue},
		"what never ran is Unknown, throttle or not": {
			stoppedBy(errThrottled), nil, at(later, condition(metav1.ConditionUnknown, "WaitingFor", "waiting for earlier")),
		},
		"a wait before it is no throttle": {
			stoppedBy(flow.Wait(0, "Pending", "it is pending")), []metav1.Condition{isTrue},
			at(later, condition(metav1.ConditionUnknown, "WaitingFor", "waiting for earlier: it is pending")),
		},
		"a block before it is none either": {
			stoppedBy(flow.Block("Bad", "change it")), []metav1.Condition{isTrue},
			at(later, condition(metav1.ConditionUnknown, "WaitingFor", "waiting for earlier: change it")),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := conditions.FromReport(flow.Report{tc.outcome}, judge, tc.previous, 1, later)
			if diff := cmp.Diff([]metav1.Condition{tc.want}, got, cmpopts.EquateApproxTime(0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFromReportLeavesPreviousAlone(t *testing.T) {
	previous := []metav1.Condition{condition(metav1.ConditionTrue, "AsExpected", "All is well")}
	conditions.FromReport(flow.Report{{Step: "it", Condition: "Ready", Err: errDenied}}, judge, previous, 2, later)
	if previous[0].Status != metav1.ConditionTrue {
		t.Error("the cached object was changed")
	}
}

func at(when time.Time, c metav1.Condition) metav1.Condition {
	c.LastTransitionTime = metav1.NewTime(when)
	return c
}
