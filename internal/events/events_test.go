package events

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestLatestWarningOfAnObject(t *testing.T) {
	event := func(name string, about types.UID, kind, reason string, minute int) *corev1.Event {
		return &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: "demo", Name: name},
			InvolvedObject: corev1.ObjectReference{UID: about}, Type: kind, Reason: reason, Message: reason + " " + name,
			LastTimestamp: metav1.NewTime(time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC)),
		}
	}
	waiting, placed := &corev1.Pod{}, &corev1.Pod{}
	waiting.Namespace, waiting.UID = "demo", "waiting"
	placed.Namespace, placed.UID, placed.Spec.NodeName = "demo", "placed", "m1"
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", UID: "claim"}}
	reader := fake.NewClientBuilder().
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(obj client.Object) []string { return []string{string(obj.(*corev1.Event).InvolvedObject.UID)} }).
		WithObjects(
			event("a", "waiting", corev1.EventTypeWarning, "FailedScheduling", 1),
			event("b", "waiting", corev1.EventTypeWarning, "FailedScheduling", 2),
			event("c", "waiting", corev1.EventTypeNormal, "Pulling", 3),
			event("d", "placed", corev1.EventTypeWarning, "FailedMount", 1),
			event("e", "placed", corev1.EventTypeWarning, "FailedScheduling", 2),
			event("f", "claim", corev1.EventTypeNormal, "FailedBinding", 1),
		).Build()
	for name, c := range map[string]struct {
		about   client.Object
		reasons []string
		want    string
	}{
		"the last warning counts":                            {about: waiting, want: "FailedScheduling b"},
		"that a pod with a node had none is over":            {about: placed, want: "FailedMount d"},
		"what is no warning is none":                         {about: claim},
		"unless it has a reason that is known to be a worry": {about: claim, reasons: []string{"FailedBinding"}, want: "FailedBinding f"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := LatestWarning(t.Context(), reader, c.about, c.reasons...); err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestStable(t *testing.T) {
	for name, tc := range map[string]struct{ message, want string }{
		"a request id goes": {
			"operation error ELB: CreateLoadBalancer, https response error StatusCode: 400, RequestID: 1-2-3, TooManyLoadBalancers",
			"operation error ELB: CreateLoadBalancer, https response error StatusCode: 400, TooManyLoadBalancers",
		},
		"the encoded text of a refusal goes": {
			"UnauthorizedOperation: You are not authorized to perform this operation. Encoded authorization failure message: q8xN-_3",
			"UnauthorizedOperation: You are not authorized to perform this operation.",
		},
		"what says the same each time stays": {"no subnets found", "no subnets found"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := stable(tc.message); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
