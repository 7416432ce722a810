package events

import (
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
)

func TestBoundedShortensNotes(t *testing.T) {
	fake := events.NewFakeRecorder(10)
	recorder := Bounded(fake)
	record := map[string]func(message string){
		"Eventf": func(message string) {
			recorder.Eventf(&corev1.Pod{}, nil, corev1.EventTypeWarning, "Stalled", "Reconcile", "%s", message)
		},
		"AnnotatedEventf": func(message string) {
			recorder.AnnotatedEventf(&corev1.Pod{}, nil, nil, corev1.EventTypeWarning, "Stalled", "Reconcile", "%s", message)
		},
	}
	for name, emit := range record {
		for _, message := range []string{"short", "100 % of %s", strings.Repeat("a", maxNote), strings.Repeat("a", maxNote+1), strings.Repeat("é", maxNote)} {
			emit(message)
			got := strings.TrimPrefix(<-fake.Events, "Warning Stalled ")
			if len(message) <= maxNote && got != message {
				t.Errorf("%s: %.20q has become %.20q", name, message, got)
			}
			if len(message) > maxNote && (len(got) > maxNote || len(got) < maxNote-4 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…")) {
				t.Errorf("%s: %.20q with %d bytes has become %d bytes", name, message, len(message), len(got))
			}
		}
	}
}
