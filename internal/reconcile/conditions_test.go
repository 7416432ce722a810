package reconcile

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	errThrottled = errors.New("throttled")
	errDenied    = errors.New("denied")
	errRace      = apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "a", errors.New("newer"))

	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	later = noon.Add(time.Hour)

	classifier = Classifier{
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
	stoppedBy := func(err error) Outcome {
		return Outcome{Step: "it", Condition: "Ready", Stopper: &Outcome{Step: "earlier", Err: err}}
	}
	outcome := func(err error) Outcome { return Outcome{Step: "it", Condition: "Ready", Err: err} }
	for name, tc := range map[string]struct {
		outcome  Outcome
		previous []metav1.Condition
		want     metav1.Condition // its transition time tells whether the status changed
	}{
		"a step that is done is True":                {outcome(nil), nil, at(later, isTrue)},
		"a condition that stays True keeps its time": {outcome(nil), []metav1.Condition{isTrue}, isTrue},
		"a wait is False with its own reason and message": {
			outcome(Wait(time.Second, "Pending", "it is pending")), []metav1.Condition{isTrue},
			at(later, condition(metav1.ConditionFalse, "Pending", "it is pending")),
		},
		"a block is False with its own reason and message": {
			outcome(Block("Bad", "change it")), nil, at(later, condition(metav1.ConditionFalse, "Bad", "change it")),
		},
		"an error is False with the reason and message of the classifier": {outcome(errDenied), nil, at(later, isFalse)},
		"a transient error keeps True":                                    {outcome(errThrottled), []metav1.Condition{isTrue}, isTrue},
		"a transient error makes False Unknown": {
			outcome(errThrottled), []metav1.Condition{isFalse}, at(later, condition(metav1.ConditionUnknown, "Because", "throttled")),
		},
		"an unknown outcome keeps True": {outcome(Unknown(time.Second, "NoAnswer", "no answer")), []metav1.Condition{isTrue}, isTrue},
		"an unknown outcome makes False Unknown": {
			outcome(Unknown(time.Second, "NoAnswer", "no answer")), []metav1.Condition{isFalse}, at(later, condition(metav1.ConditionUnknown, "NoAnswer", "no answer")),
		},
		"a step that did not run because of an unknown outcome keeps its condition": {stoppedBy(Unknown(0, "NoAnswer", "")), []metav1.Condition{isTrue}, isTrue},
		"an unverified step is Unknown even if it was True": {
			Outcome{Step: "it", Condition: "Ready", Unverified: Unverified("NotOurs", "it is the user's")}, []metav1.Condition{isTrue},
			at(later, condition(metav1.ConditionUnknown, "NotOurs", "it is the user's")),
		},
		"an unverified step is Unknown whatever its outcome is": {
			Outcome{Step: "it", Condition: "Ready", Err: errDenied, Unverified: Unverified("NotOurs", "it is the user's")}, []metav1.Condition{isTrue},
			at(later, condition(metav1.ConditionUnknown, "NotOurs", "it is the user's")),
		},
		"an unverified step may name another condition": {
			Outcome{Step: "it", Unverified: Unverified("NotOurs", "it is the user's").About("Ready")}, nil,
			at(later, condition(metav1.ConditionUnknown, "NotOurs", "it is the user's")),
		},
		"a conflict keeps True": {outcome(errRace), []metav1.Condition{isTrue}, isTrue},
		"a step that did not run names the reason if the step before it has no condition": {
			stoppedBy(errDenied), []metav1.Condition{isTrue}, at(later, condition(metav1.ConditionUnknown, "WaitingFor", "waiting for earlier: denied")),
		},
		"a step that did not run leaves the reason to the condition of the step before it": {
			Outcome{Step: "it", Condition: "Ready", Stopper: &Outcome{Step: "earlier", Condition: "Valid", Err: errDenied}}, nil,
			at(later, condition(metav1.ConditionUnknown, "WaitingFor", "waiting for earlier")),
		},
		"a step that did not run because of a transient error keeps its condition": {stoppedBy(errThrottled), []metav1.Condition{isTrue}, isTrue},
		"a step that never ran is Unknown even if the error is transient": {
			stoppedBy(errThrottled), nil, at(later, condition(metav1.ConditionUnknown, "WaitingFor", "waiting for earlier")),
		},
		"a step that did not run because of a wait is Unknown": {
			stoppedBy(Wait(0, "Pending", "it is pending")), []metav1.Condition{isTrue},
			at(later, condition(metav1.ConditionUnknown, "WaitingFor", "waiting for earlier: it is pending")),
		},
		"a step that did not run because of a block is Unknown": {
			stoppedBy(Block("Bad", "change it")), []metav1.Condition{isTrue},
			at(later, condition(metav1.ConditionUnknown, "WaitingFor", "waiting for earlier: change it")),
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewConditions(tc.previous, 1, later)
			c.Report(Report{tc.outcome}, classifier)
			if diff := cmp.Diff([]metav1.Condition{tc.want}, c.List(), cmpopts.EquateApproxTime(0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestConditionsOfTheCacheAreNotChanged(t *testing.T) {
	cached := []metav1.Condition{condition(metav1.ConditionTrue, "AsExpected", "All is well")}
	NewConditions(cached, 2, later).Report(Report{{Step: "it", Condition: "Ready", Err: errDenied}}, classifier)
	if cached[0].Status != metav1.ConditionTrue {
		t.Error("the cached object was changed")
	}
}

func TestSummaryIsTheFirstOutcomeThatIsNotDone(t *testing.T) {
	c := NewConditions(nil, 1, later)
	c.Summarize("Ready", Report{{Step: "a"}, {Step: "b", Err: Wait(0, "Pending", "it is pending")}, {Step: "c", Err: errDenied}}, classifier)
	if got := c.Get("Ready"); got.Reason != "Pending" {
		t.Errorf("got %+v", got)
	}
}

// A status is often set more than once on the way: a step is done, and its result makes the condition False. Users see the end only.
func TestTransitionTimeIsThatOfTheEnd(t *testing.T) {
	isFalse := condition(metav1.ConditionFalse, "Because", "denied")
	for name, tc := range map[string]struct {
		change func(*Conditions)
		want   metav1.Condition
	}{
		"False, True and False again": {func(c *Conditions) {
			c.Set("Ready", metav1.ConditionTrue, "", "")
			c.Set("Ready", metav1.ConditionFalse, "Because", "denied")
		}, isFalse},
		"removed and set again": {func(c *Conditions) {
			c.Remove("Ready")
			c.Set("Ready", metav1.ConditionFalse, "Because", "denied")
		}, isFalse},
		"restored": {func(c *Conditions) {
			c.Set("Ready", metav1.ConditionTrue, "", "")
			c.Restore("Ready", "Other")
		}, isFalse},
		"with an observed generation of its own": {func(c *Conditions) {
			c.Put(metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Because", Message: "denied", ObservedGeneration: 1})
		}, at(later, condition(metav1.ConditionTrue, "Because", "denied"))},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewConditions([]metav1.Condition{isFalse}, 1, later)
			tc.change(c)
			if diff := cmp.Diff([]metav1.Condition{tc.want}, c.List(), cmpopts.EquateApproxTime(0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func at(when time.Time, c metav1.Condition) metav1.Condition {
	c.LastTransitionTime = metav1.NewTime(when)
	return c
}
