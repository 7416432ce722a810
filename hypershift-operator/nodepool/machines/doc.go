// Package machines derives from a NodePool the objects that Cluster API creates machines from, and applies them.
//
//	spec.go            inputs of the objects
//	template.go        AWSMachineTemplate, named by a hash of the user's settings
//	  tags.go, placement.go, securitygroups.go
//	userdata.go        Secret with the inputs of the user data, NodeBootstrapTemplate
//	deployment.go      MachineDeployment
//	  strategy.go, autoscaling.go
//	healthcheck.go     MachineHealthCheck
//	applier.go         applies all of them
//	inplace.go         changes machines that exist
//
// Machines are replaced only when the user specifies other ones. A template is named by a hash of the user's settings:
// another version of the operator may write other templates, and still replaces no machine. Labels, taints, timeouts and tags are
// changed in place.
package machines
