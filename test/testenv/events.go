package testenv

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// An EventLog is a recorder that keeps the events as "type reason: note".
type EventLog struct {
	mu    sync.Mutex
	lines []string
}

// Eventf implements events.EventRecorder.
func (l *EventLog) Eventf(_, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, eventType+" "+reason+": "+fmt.Sprintf(note, args...))
}

// Drain returns the events since the last call.
func (l *EventLog) Drain() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

// Contains returns whether an event since the last Drain has this text.
func (l *EventLog) Contains(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.lines, func(line string) bool { return strings.Contains(line, text) })
}
