package events

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
)

// Change is a change of an object, for an event. Type is Normal or Warning.
type Change struct{ Type, Reason, Message string }

// maxNote is the limit of the note of an event in bytes. The API server rejects a longer one.
// https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
const maxNote = 1024

// Bounded returns a recorder that shortens notes to the length that the API server accepts. The messages of conditions may be longer,
// and contain answers of AWS and names that users chose; without the limit, such an event is lost.
func Bounded(unbounded recorder.EventRecorder) recorder.EventRecorder { return bounded{unbounded} }

type bounded struct{ recorder.EventRecorder }

func (b bounded) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	b.EventRecorder.Eventf(regarding, related, eventType, reason, action, "%s", Shorten(fmt.Sprintf(note, args...)))
}

func (b bounded) AnnotatedEventf(regarding, related runtime.Object, annotations map[string]string, eventType, reason, action, note string, args ...any) {
	b.EventRecorder.AnnotatedEventf(regarding, related, annotations, eventType, reason, action, "%s", Shorten(fmt.Sprintf(note, args...)))
}

// Shorten cuts a note that the API server would reject between two characters, and marks it.
func Shorten(text string) string {
	const mark = "…"
	if len(text) <= maxNote {
		return text
	}
	return strings.ToValidUTF8(text[:maxNote-len(mark)], "") + mark
}
