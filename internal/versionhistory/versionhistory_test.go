package versionhistory

import (
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// past is a history of versions, newest first; one with a ~ was never completed.
func past(versions ...string) []configv1.UpdateHistory {
	var history []configv1.UpdateHistory
	for _, v := range versions {
		h := configv1.UpdateHistory{State: configv1.CompletedUpdate, Version: strings.Trim(v, "~"), Image: "image:" + strings.Trim(v, "~")}
		if strings.HasPrefix(v, "~") {
			h.State = configv1.PartialUpdate
		}
		history = append(history, h)
	}
	return history
}

func TestHistory(t *testing.T) {
	now := metav1.NewTime(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	one, two := configv1.Release{Image: "image:1.35.4", Version: "1.35.4"}, configv1.Release{Image: "image:1.36.3", Version: "1.36.3"}
	for name, c := range map[string]struct {
		history []configv1.UpdateHistory
		to      configv1.Release
		done    bool
		want    string
	}{
		"the first begins":                         {nil, one, false, "~1.35.4"},
		"it is completed":                          {past("~1.35.4"), one, true, "1.35.4"},
		"a complete one stays so":                  {past("1.35.4"), one, false, "1.35.4"},
		"another begins":                           {past("1.35.4"), two, false, "~1.36.3 1.35.4"},
		"another takes the place of a partial one": {past("~1.35.4"), two, false, "~1.36.3 ~1.35.4"},
		"a tag that moved is another release":      {past("1.36.2"), configv1.Release{Image: "image:1.36.2", Version: "1.36.3"}, false, "~1.36.3 1.36.2"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			before := len(c.history)
			history := Advance(c.history, c.to, c.done, now)
			for i, h := range history {
				v := h.Version
				if h.State == configv1.PartialUpdate {
					v = "~" + v
				}
				got = append(got, v)
				if i > 0 && len(history) > before && h.State == configv1.PartialUpdate && h.CompletionTime == nil {
					t.Errorf("%s is over and has no end", v)
				}
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("history is %q, want %q", s, c.want)
			}
			if c.done && history[0].CompletionTime == nil {
				t.Error("it is complete since never")
			}
		})
	}
}

func TestALongHistoryForgetsIncompleteReleasesFirst(t *testing.T) {
	var versions []string
	for range Max - 1 {
		versions = append(versions, "~1.35.1")
	}
	history := Advance(past(append(versions, "1.34.0")...), configv1.Release{Version: "1.35.2"}, false, metav1.Now())
	if len(history) != Max || history[0].Version != "1.35.2" || history[Max-1].Version != "1.34.0" {
		t.Errorf("%d entries from %s to %s", len(history), history[0].Version, history[len(history)-1].Version)
	}
	history = past("1.36.0", "1.35.0")
	for len(history) < Max {
		history = append(history, past("1.34.0")...)
	}
	if history = Advance(history, configv1.Release{Version: "1.36.1"}, false, metav1.Now()); len(history) != Max || history[1].Version != "1.36.0" {
		t.Errorf("%d entries, the second is %s", len(history), history[1].Version)
	}
}
