// Package resourcegraph brings a graph of resources to a desired state, and deletes it again.
//
//	graph.go    nodes: dependencies of a resource, and how it is read, compared, created, updated and deleted
//	state.go    the file with the ids of created resources, and with intents: creations with an unknown outcome
//	plan.go     read everything, compare, and show the difference as a tree; no writing call
//	apply.go    create and update in the order of dependencies, in parallel
//	destroy.go  delete in the reverse order
//	retry.go    back-off for throttling, eventual consistency and resources in use
//	events.go   progress, for a live view or a log
//
// The package knows no cloud. A node is as small as one writing call, so that independent calls run in parallel and a
// process that dies leaves at most one unknown outcome per call in progress.
//
// A crash at any moment is resumed by the same command. Before each creation an intent is saved, with a token that the call
// passes on where the API accepts one. After a crash, or an answer that is lost, the resource is looked up by its
// ownership tag. For an API without tokens the look-up is repeated until the window of eventual consistency is over, and only
// then the resource is created again.
package resourcegraph
