package instancetypes

import "time"

const (
	// ttl is long because a type never changes; it ends so that a process which
	// runs for months forgets types that nobody uses.
	ttl = 12 * time.Hour
	// unknownTTL is short: AWS brings new types to regions, and a user who made a
	// mistake in a policy or a region waits for this to pass.
	unknownTTL = 10 * time.Minute
)
