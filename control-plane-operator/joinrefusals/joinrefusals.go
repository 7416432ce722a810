// Package joinrefusals passes on why the certificate requests of machines are not approved: from the controller that refuses
// them to the controller that reports why a machine does not join. It is in memory: after a restart, the requests that still
// exist are refused again.
package joinrefusals

import "sync"

// Refusals holds the reasons by Machine name. All methods are safe for concurrent use.
type Refusals struct {
	mu  sync.Mutex
	why map[string]string
}

// Set replaces all reasons.
func (r *Refusals) Set(reasons map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.why = reasons
}

// Of returns why the request of a Machine is refused, or "".
func (r *Refusals) Of(machine string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.why[machine]
}
