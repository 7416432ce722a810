// Package memory tunes the garbage collector for an operator with a large cache.
package memory

import (
	"os"
	"runtime/debug"
)

// gcPercent limits garbage to half of the live heap. The heap of an operator is mostly its cache, which stays in memory, so that
// the default of 100 % would double it. At rest there is little garbage, so that the collector does not run more often. A limit in
// bytes would be wrong for some number of clusters.
const gcPercent = 50

// LimitGarbage sets how much garbage this process may have. GOGC takes precedence.
func LimitGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
