package pause_test

import (
	"testing"
	"time"

	"github.com/hosted-control-planes/hypershift/internal/pause"
)

func TestLeft(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	text := func(s string) *string { return &s }
	for name, tc := range map[string]struct {
		until  *string
		left   time.Duration
		paused bool
	}{
		"never set":                    {nil, 0, false},
		"emptied":                      {text(""), 0, false},
		"off":                          {text("false"), 0, false},
		"on until somebody changes it": {text("true"), 0, true},
		"until a time to come":         {text("2026-01-02T03:05:05Z"), time.Minute, true},
		"in another time zone":         {text("2026-01-02T04:05:05+01:00"), time.Minute, true},
		"until now":                    {text("2026-01-02T03:04:05Z"), 0, false},
		"until a time gone by":         {text("2025-01-02T03:04:05Z"), 0, false},
		"rubbish is a pause":           {text("2026-13-45T99:99:99rubbish"), 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			left, paused := pause.Left(tc.until, now)
			if left != tc.left || paused != tc.paused {
				t.Errorf("got %v, %v, want %v, %v", left, paused, tc.left, tc.paused)
			}
		})
	}
}
