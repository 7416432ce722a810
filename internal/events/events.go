// Package events reads in Events what somebody else could not do with an
// object: a cloud controller with a Service, a kubelet with a Pod.
package events

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// LatestWarning returns the last complaint about an object, or "". Warnings are
// complaints, and so is what has one of the reasons. The reader is asked for the
// Events of that object alone: they are many, and wanted rarely, so that it
// should not be a cache.
func LatestWarning(ctx context.Context, reader client.Reader, obj client.Object, reasons ...string) (string, error) {
	list := &corev1.EventList{}
	err := reader.List(ctx, list, client.InNamespace(obj.GetNamespace()), client.MatchingFields{"involvedObject.uid": string(obj.GetUID())})
	if err != nil {
		return "", fmt.Errorf("listing events of %T %s: %w", obj, obj.GetName(), err)
	}
	var last *corev1.Event
	for i := range list.Items {
		e := &list.Items[i]
		complains := e.Type == corev1.EventTypeWarning || slices.Contains(reasons, e.Reason)
		if complains && !isOvercome(obj, e) && (last == nil || lastSeen(last).Before(lastSeen(e))) {
			last = e
		}
	}
	if last == nil {
		return "", nil
	}
	return stable(last.Message), nil
}

// isOvercome says whether something has happened since that shows that the
// complaint is no more: a pod that has a node was scheduled in the end.
func isOvercome(obj client.Object, e *corev1.Event) bool {
	pod, isPod := obj.(*corev1.Pod)
	return isPod && pod.Spec.NodeName != "" && e.Reason == "FailedScheduling"
}

// lastSeen is the time of an event: who writes the newer API leaves the older field empty.
func lastSeen(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	}
	return e.EventTime.Time
}

// changing is what differs each time the same thing goes wrong.
var changing = regexp.MustCompile(`(?i),? *"?(request ?id|status code)"?: *[0-9a-z-]*`)

// stable is the message without what would make it another one each time, such
// as the encoded text behind a refusal of EC2.
func stable(message string) string {
	message, _, _ = strings.Cut(message, "Encoded authorization failure message")
	return strings.TrimSpace(changing.ReplaceAllString(message, ""))
}
