package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/test/lab/disruption"
)

// during returns a run with events that take a minute, or fail, and the events that have begun.
func during(d disturbance, failure error) (*run, *[]string) {
	var begun []string
	for i, event := range d.events {
		d.events[i].Happen = func(_ *disruption.Disruptor, ctx context.Context, _ client.ObjectKey) (string, error) {
			begun = append(begun, event.Name)
			if !pause(ctx, time.Minute) {
				return "", ctx.Err()
			}
			return "it happened", failure
		}
	}
	return &run{options: options{during: d}, out: io.Discard}, &begun
}

func two() []disruption.Event { return []disruption.Event{{Name: "first"}, {Name: "second"}} }

func TestEventsHappenUntilTheSpecsHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, begun := during(disturbance{name: "both", events: two()}, nil)
		ctx, end := context.WithTimeout(t.Context(), 3*(time.Minute+eventPause)+eventPause+time.Second)
		defer end()
		completed := 0
		happened, err := r.happen(ctx, nil, func() { completed++ })
		if completed != 3 {
			t.Errorf("%d events were completed, want 3", completed)
		}
		if want := []string{"first: it happened", "second: it happened", "first: it happened"}; err != nil || !slices.Equal(happened, want) {
			t.Errorf("%q happened, %v", happened, err)
		}
		if want := []string{"first", "second", "first", "second"}; !slices.Equal(*begun, want) {
			t.Errorf("%q began", *begun)
		}
	})
}

func TestSpecsAwaitTheFirstEvent(t *testing.T) {
	first := make(chan struct{})
	e := backgroundEvents{first: first}
	if !e.awaited() {
		t.Error("no event was completed, and none is awaited")
	}
	close(first)
	if e.awaited() {
		t.Error("an event was completed, and it is awaited")
	}
	if events, err := noEvents().stop(); noEvents().awaited() || len(events) > 0 || err != nil {
		t.Errorf("without events, some are awaited, or there are %q, %v", events, err)
	}
}

func TestLaterRoundHasItsOwnFiles(t *testing.T) {
	p := part{name: "parallel"}
	if one, two := p.of(1).name, p.of(2).name; one != "parallel" || two != "parallel-2" {
		t.Errorf("the rounds are %s and %s", one, two)
	}
}

func TestSpecsThatEndTheProcessDoNotRunWhenServersDie(t *testing.T) {
	list := []string{"[sig-api-machinery] " + crashing + " [Conformance]", "[sig-node] Pods should run [Conformance]"}
	if got := (disturbance{abrupt: true}).without(list); !slices.Equal(got, list[1:]) {
		t.Errorf("%q run", got)
	}
	if got := (disturbance{}).without(list); !slices.Equal(got, list) {
		t.Errorf("only %q run", got)
	}
}

func TestUpgradeHappensOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, begun := during(disturbance{name: "once", events: two()[:1], once: true}, nil)
		if happened, err := r.happen(t.Context(), nil, func() {}); err != nil || len(happened) != 1 || len(*begun) != 1 {
			t.Errorf("%q happened, %v", happened, err)
		}
	})
}

func TestFailedEventIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := during(disturbance{name: "both", events: two()}, errors.New("the pod is not replaced"))
		if happened, err := r.happen(t.Context(), nil, func() {}); err == nil || !strings.Contains(err.Error(), "first: the pod is not replaced") || len(happened) > 0 {
			t.Errorf("%q happened, %v", happened, err)
		}
	})
}
