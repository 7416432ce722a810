package testenv

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lookUp reads an object and returns one of its conditions, or nil.
func (e *Env) lookUp(obj client.Object, conditionType string) *metav1.Condition {
	e.T.Helper()
	condition, err := e.findCondition(e.T.Context(), obj, conditionType)
	e.Must(err)
	return condition
}

// Condition returns a condition of the object under test, which must be set.
func (e *Env) Condition(conditionType string) metav1.Condition {
	e.T.Helper()
	return e.ConditionOf(e.Object, conditionType)
}

// ConditionOf reads an object and returns one of its conditions, which must be set.
func (e *Env) ConditionOf(obj client.Object, conditionType string) metav1.Condition {
	e.T.Helper()
	condition := e.lookUp(obj, conditionType)
	if condition == nil {
		e.T.Fatalf("%s has no condition %s: %+v", obj.GetName(), conditionType, content(e, Read(e, obj))["status"])
	}
	return *condition
}

// ConditionText returns a condition of the object under test as "status reason: message", or "nothing".
func (e *Env) ConditionText(conditionType string) string {
	e.T.Helper()
	condition := e.lookUp(e.Object, conditionType)
	if condition == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %s: %s", condition.Status, condition.Reason, condition.Message)
}

// ExpectConditionText fails the test unless a condition of the object under test is text.
func (e *Env) ExpectConditionText(conditionType, text string) {
	e.T.Helper()
	if got := e.ConditionText(conditionType); got != text {
		e.T.Errorf("%s:\n got %s\nwant %s", conditionType, got, text)
	}
}

// ExpectCondition fails the test unless a condition of the object under test has this status and reason, and the words in its message.
func (e *Env) ExpectCondition(conditionType string, status metav1.ConditionStatus, reason string, words ...string) {
	e.T.Helper()
	e.ExpectConditionOf(e.Object, conditionType, status, reason, words...)
}

// ExpectConditionOf is like ExpectCondition, for any object.
func (e *Env) ExpectConditionOf(obj client.Object, conditionType string, status metav1.ConditionStatus, reason string, words ...string) {
	e.T.Helper()
	condition := e.lookUp(obj, conditionType)
	if condition == nil || condition.Status != status || condition.Reason != reason {
		e.T.Errorf("%s of %s is %+v, want %s %s", conditionType, obj.GetName(), condition, status, reason)
		return
	}
	for _, word := range words {
		if !strings.Contains(condition.Message, word) {
			e.T.Errorf("the message of %s lacks %q: %s", conditionType, word, condition.Message)
		}
	}
}

// ExpectConditions fails the test unless each condition of the object under test is "status reason words", or is not set for "".
func (e *Env) ExpectConditions(want map[string]string) {
	e.T.Helper()
	for conditionType, text := range want {
		if text == "" {
			if condition := e.lookUp(e.Object, conditionType); condition != nil {
				e.T.Errorf("%s is %+v, want it not to be set", conditionType, condition)
			}
			continue
		}
		parts := strings.SplitN(text+"  ", " ", 3)
		e.ExpectCondition(conditionType, metav1.ConditionStatus(parts[0]), parts[1], strings.TrimSpace(parts[2]))
	}
}

// Ready returns a function that describes which condition of the object under test is not True, or returns "".
func (e *Env) Ready(conditions ...string) func(context.Context) string {
	return func(ctx context.Context) string {
		for _, conditionType := range conditions {
			condition, err := e.findCondition(ctx, e.Object, conditionType)
			if err != nil {
				return err.Error()
			}
			if condition == nil || condition.Status != metav1.ConditionTrue {
				return fmt.Sprintf("%s: %+v", conditionType, condition)
			}
		}
		return ""
	}
}

// findCondition understands the conditions of every type: the fields of metav1.Condition are common to all.
func (e *Env) findCondition(ctx context.Context, obj client.Object, conditionType string) (*metav1.Condition, error) {
	obj = obj.DeepCopyObject().(client.Object)
	if err := e.Admin().Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	conditions, _, err := unstructured.NestedSlice(content, "status", "conditions")
	if err != nil {
		return nil, err
	}
	for _, item := range conditions {
		condition := &metav1.Condition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.(map[string]any), condition); err != nil {
			return nil, err
		}
		if condition.Type == conditionType {
			return condition, nil
		}
	}
	return nil, nil
}
