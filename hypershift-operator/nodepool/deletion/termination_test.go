package deletion

import (
	"testing"
	"time"
)

func TestTerminationCheck(t *testing.T) {
	for age, want := range map[time.Duration][2]time.Duration{
		-time.Second:     {0, 6 * time.Second},
		0:                {0, 5 * time.Second},
		5 * time.Second:  {5 * time.Second, 5 * time.Second},
		7 * time.Second:  {5 * time.Second, 3 * time.Second},
		39 * time.Second: {30 * time.Second, time.Second},
		50 * time.Second: {50 * time.Second, retryInterval},
		59 * time.Second: {50 * time.Second, retryInterval},
		time.Minute:      {0, retryInterval},
		time.Hour:        {0, retryInterval},
	} {
		if due, next := terminationCheck(age); due != want[0] || next != want[1] {
			t.Errorf("after %s: %s is due, the next in %s, want %s", age, due, next, want)
		}
	}
}
