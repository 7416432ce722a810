// Package connection connects the control-plane-operator to the cluster that it hosts.
//
//	pool.go      one connection per hosted cluster, replaced when its kubeconfig changes
//	watches.go   watches without a cache: an event triggers a reconcile
//	memory.go    what other packages remember as long as a connection lasts
//	events.go    events that are recorded once
//	metadata.go  lists that have only the metadata of objects
//
// Objects of the hosted cluster are not cached: objects that are read once in ten minutes are not worth the memory.
package connection
