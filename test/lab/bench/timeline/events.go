package timeline

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// Event is a line of a file of events: a state of an object, or a mark.
type Event struct {
	// Seconds is the time since the timeline began.
	Seconds float64                    `json:"seconds"`
	Mark    string                     `json:"mark,omitempty"`
	Type    watch.EventType            `json:"type,omitempty"`
	Object  *unstructured.Unstructured `json:"object,omitempty"`
}

// Add records the event.
func (t *Timeline) Add(e Event) {
	at := time.Duration(e.Seconds * float64(time.Second))
	if e.Object == nil {
		t.Mark(at, e.Mark)
		return
	}
	t.Record(at, e.Type, e.Object)
}

// Read returns the timeline of a file of events, one JSON object per line.
func Read(r io.Reader) (*Timeline, error) {
	t := &Timeline{}
	decoder := json.NewDecoder(bufio.NewReader(r))
	for {
		var e Event
		err := decoder.Decode(&e)
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading events: %w", err)
		}
		if e.Object == nil && e.Mark == "" {
			return nil, fmt.Errorf("the event at %v s has neither an object nor a mark", e.Seconds)
		}
		t.Add(e)
	}
}
