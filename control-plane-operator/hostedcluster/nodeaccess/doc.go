// Package nodeaccess follows the nodes of a hosted cluster to another path to the API server, after a change of the access mode.
//
//	facts.go      what Machines, Nodes and tunnels report
//	evaluate.go   the paths in use, and the condition EndpointAccessUpToDate
//
// When all nodes use the new path, the tunnels follow: they have one address for all nodes. Their former path is in use until the last
// tunnel pod is replaced.
package nodeaccess
