package instancetypes

import "time"

const (
	// ttl is long because a type never changes; it ends so that a process which
	// runs for months forgets types that nobody uses.
	ttl = 12 * time.Hour
	// unknownTTL is short: AWS brings new types to regions, and a user who made a
	// mistake in a policy or a region waits for this to pass.
	unknownTTL = 10 * time.Minute
	// patience is for one answer, retries included. Without an end, a connection
	// that has died quietly would keep all who wait for the same answer.
	patience = time.Minute
)
