// Package pause reads spec.pausedUntil, by which a user keeps the operators'
// hands off a cluster. A pause stops changes, never a deletion.
package pause

import (
	"strconv"
	"time"
)

// Left says whether a cluster is paused now, and for how long: 0 means until
// the field changes. A value that cannot be read is a pause: whoever wrote it
// did not want us to go on.
func Left(until *string, now time.Time) (left time.Duration, paused bool) {
	if until == nil || *until == "" {
		return 0, false
	}
	if on, err := strconv.ParseBool(*until); err == nil {
		return 0, on
	}
	end, err := time.Parse(time.RFC3339, *until)
	if err != nil {
		return 0, true
	}
	if left := end.Sub(now); left > 0 {
		return left, true
	}
	return 0, false
}
