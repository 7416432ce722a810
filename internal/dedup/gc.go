package dedup

import (
	"os"
	"runtime/debug"
)

// gcPercent lets garbage grow to half of what is in use, and not to as much
// again. What an operator has in use is its cache, which stays, so that the usual
// percentage doubles it; and at rest it makes no garbage that would have to be
// collected twice as often. A limit in bytes would be wrong for some fleet.
const gcPercent = 50

// Collect sets how much garbage this program may have. Who says GOGC knows better.
func Collect() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
