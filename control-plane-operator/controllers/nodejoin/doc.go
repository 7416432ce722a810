// Package nodejoin reports why machines do not become nodes.
//
//	step machines without a node
//	Machines  ─► late ones    the instance has run for minutes, and there is no node      machines.go
//
//	step instances
//	EC2       ─► its state and status checks: one call for all late machines              examine.go
//	refusals  ─► why its certificate request is not approved                              package joinrefusals
//	EC2       ─► its console: the last report of the user data, or the last lines         console.go
//	          ─► HostedControlPlane.status.machinesWithoutNode, with one of these reasons:
//
//	InstanceNotRunning, InstanceImpaired, InstanceNotBooted, NodeProgramsUnavailable, APIServerUnreachable, NodeRefused,
//	NodeNotJoined
//
// The controller calls AWS only while there are late machines, and for each of them at most once in five minutes, with the
// role of the cluster's machines (rolesRef.nodePoolManagementARN). The NodePool controller of the hypershift-operator reports
// the reasons in the conditions of the pools, and replaces machines.
package nodejoin
