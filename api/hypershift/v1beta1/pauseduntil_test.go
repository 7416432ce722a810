package v1beta1

import (
	"testing"
	"time"
)

func TestPaused(t *testing.T) {
	now := time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)
	value := func(s string) *PausedUntil { p := PausedUntil(s); return &p }

	for name, c := range map[string]struct {
		until     *PausedUntil
		paused    bool
		remaining time.Duration
	}{
		"no value is no pause":                       {nil, false, 0},
		"an empty value is no pause":                 {value(""), false, 0},
		"false is no pause":                          {value("False"), false, 0},
		"true pauses until it is removed":            {value("true"), true, 0},
		"a future time pauses until then":            {value("2030-01-31T12:00:30Z"), true, 30 * time.Second},
		"a future time uses its own time zone":       {value("2030-01-31T13:00:30+01:00"), true, 30 * time.Second},
		"the present time is no pause":               {value("2030-01-31T12:00:00Z"), false, 0},
		"a past time is no pause":                    {value("2029-12-31T12:00:00Z"), false, 0},
		"a value without a time zone pauses":         {value("2030-01-31T12:00:00"), true, 0},
		"an invalid time pauses until it is removed": {value("2020-13-45T99:99:99rubbish"), true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			paused, remaining := c.until.Paused(now)
			if paused != c.paused || remaining != c.remaining {
				t.Errorf("got %v for %v, want %v for %v", paused, remaining, c.paused, c.remaining)
			}
		})
	}
}
