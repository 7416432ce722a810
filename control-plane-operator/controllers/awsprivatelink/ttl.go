package awsprivatelink

import "time"

// zoneTTL: a zone that goes away says so at the next call. The check that the
// VPC still resolves it, and that no second one does, is worth few calls.
const zoneTTL = 6 * time.Hour

// deletionTrust: what others have taken away or changed since the last look
// shows in the answer to our deletion, and is looked at then. AWS needs minutes
// to delete an endpoint; what comes after that needs no second look.
const deletionTrust = 10 * time.Minute
