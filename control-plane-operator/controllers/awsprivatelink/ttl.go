package awsprivatelink

import "time"

// zoneTTL: a zone that goes away says so at the next call. The check that the
// VPC still resolves it, and that no second one does, is worth few calls.
const zoneTTL = 6 * time.Hour
