package hostedcontrolplane

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// eventsOf returns what a cloud controller last complained about, to be put
// behind a sentence, or "".
func (r *Reconciler) eventsOf(ctx context.Context, svc *corev1.Service) (string, error) {
	list := &corev1.EventList{}
	err := r.Events.List(ctx, list, client.InNamespace(svc.Namespace), client.MatchingFields{"involvedObject.uid": string(svc.UID)})
	if err != nil {
		return "", fmt.Errorf("listing events of Service %s: %w", svc.Name, err)
	}
	var last *corev1.Event
	for i := range list.Items {
		e := &list.Items[i]
		if e.Type == corev1.EventTypeWarning && (last == nil || when(last).Before(when(e))) {
			last = e
		}
	}
	if last == nil {
		return "", nil
	}
	return ": " + stable(last.Message), nil
}

// when is the time of an event: who writes the newer API leaves the older field empty.
func when(e *corev1.Event) time.Time {
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
