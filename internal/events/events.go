// Package events records the Events of the operators, and reads Events in which another component reports a failure: a cloud
// controller about a Service, a kubelet about a Pod.
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

// LatestWarning returns the message of the latest warning about an object, or "". Events with one of the reasons count as
// warnings. The reader reads the Events of this object only. It should not be a cache: Events are many, and rarely needed.
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

// isOvercome reports whether the warning is outdated: a pod with a node has been scheduled.
func isOvercome(obj client.Object, e *corev1.Event) bool {
	pod, isPod := obj.(*corev1.Pod)
	return isPod && pod.Spec.NodeName != "" && e.Reason == "FailedScheduling"
}

// lastSeen returns the time of an event. Writers of the newer API leave the older field empty.
func lastSeen(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	}
	return e.EventTime.Time
}

// changing matches the parts of a message that differ for each attempt.
var changing = regexp.MustCompile(`(?i),? *"?(request ?id|status code)"?: *[0-9a-z-]*`)

// stable returns the message without the parts that differ for each attempt, such as the encoded details of an error of EC2.
func stable(message string) string {
	message, _, _ = strings.Cut(message, "Encoded authorization failure message")
	return strings.TrimSpace(changing.ReplaceAllString(message, ""))
}
