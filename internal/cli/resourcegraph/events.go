package resourcegraph

import "time"

// Phase is the progress of a node.
type Phase string

// The phases. Phases in -ed end a step.
const (
	Creating Phase = "creating"
	Created  Phase = "created"
	Adopted  Phase = "found"
	Updating Phase = "updating"
	Updated  Phase = "updated"
	Deleting Phase = "deleting"
	Deleted  Phase = "deleted"
	// Waiting carries a detail: the wait of the resource.
	Waiting Phase = "waiting"
	Ready   Phase = "ready"
	// Retrying carries an error and the time until the next attempt.
	Retrying Phase = "retrying"
	Failed   Phase = "failed"
	// Skipped: a dependency has failed.
	Skipped Phase = "skipped"
)

// Event is something that happens to a node.
type Event struct {
	Time   time.Time
	Node   *Node
	Phase  Phase
	ID     string
	Detail string
	Err    error
	// Delay is the time until the next attempt.
	Delay time.Duration
}

// Label is the kind and the name of the node.
func (e Event) Label() string { return e.Node.label() }
