package v1beta1

import (
	"testing"
	"time"
)

func TestPaused(t *testing.T) {
	now := time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)
	word := func(s string) *PausedUntil { p := PausedUntil(s); return &p }

	for name, c := range map[string]struct {
		until     *PausedUntil
		paused    bool
		remaining time.Duration
	}{
		"nothing said is no pause":                         {nil, false, 0},
		"an empty word is no pause":                        {word(""), false, 0},
		"false is no pause":                                {word("False"), false, 0},
		"true pauses until it is taken away":               {word("true"), true, 0},
		"a time to come pauses until then":                 {word("2030-01-31T12:00:30Z"), true, 30 * time.Second},
		"a time to come counts from its own zone":          {word("2030-01-31T13:00:30+01:00"), true, 30 * time.Second},
		"a time that has come is no pause":                 {word("2030-01-31T12:00:00Z"), false, 0},
		"a time gone by is no pause":                       {word("2029-12-31T12:00:00Z"), false, 0},
		"what cannot be read pauses, as someone meant to":  {word("2030-01-31T12:00:00"), true, 0},
		"what only looks like a time pauses until it goes": {word("2020-13-45T99:99:99rubbish"), true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			paused, remaining := c.until.Paused(now)
			if paused != c.paused || remaining != c.remaining {
				t.Errorf("got %v for %v, want %v for %v", paused, remaining, c.paused, c.remaining)
			}
		})
	}
}
