package subnet

import "time"

// ttl is long because VPC and zone of a subnet cannot change; it ends at all
// only so that a deleted subnet is noticed within a working day.
const ttl = 12 * time.Hour
