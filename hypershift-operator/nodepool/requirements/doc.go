// Package requirements checks the conditions for creating machines. Each function answers for one condition: nil, or an error of
// package reconcile that names the change to make.
//
//	configuration.go    spec, upgrade type, health check, security group, control plane namespace, cluster-wide settings
//	release.go          releases of the nodes and of the control plane, programs of the nodes
//	version.go          does the API server support the nodes' version?
//	image.go            architecture, machine image
//	instancetype.go     does EC2 have it, and the architecture?
//	nodeconfig.go       node configuration and tuning from the user's ConfigMaps
package requirements
