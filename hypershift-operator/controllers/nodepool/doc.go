// Package nodepool turns a NodePool into machines of Cluster API, tells the
// user how they are, and takes them away again.
//
//	live    configuration ► finalizer ►
//	          management         can spec.management be followed?            management.go
//	          release            what shall the nodes run?                   release.go
//	          node configuration, tuning     from the user's ConfigMaps      nodeconfig.go
//	          health check       how long a node may be broken               healthcheck.go
//	        ► version            may such nodes join?                        version.go
//	          architecture, machine image   does the release have them?      image.go
//	          instance type      does EC2 have it, and with that arch?       instancetype.go
//	          security group     of all workers of the cluster               securitygroup.go
//	        ► control plane's namespace ►
//	          cluster-wide node settings             proxy, SSH keys, ...    clustersettings.go
//	          AWSMachineTemplate     named by what was asked for             template.go
//	          NodeBootstrapTemplate  and a Secret with the configuration     bootstrap.go
//	        ► the end of a pause                                             pause.go
//	        ► MachineDeployment, MachineHealthCheck                          machinedeployment.go
//	        ► tags and security groups of machines that run                  inplace.go
//	        ► templates that nobody uses any more                            prune.go
//
//	paused  configuration ► the MachineDeployment and the
//	        MachineHealthCheck are told                                      pause.go
//
//	dying   unpause ► MachineDeployment, MachineHealthCheck ► Machines ►
//	        templates, Secrets ► finalizer                                   delete.go
//
//	lost    the same, when somebody has taken the finalizer away, or
//	        the deletion was quicker than it                                 lost.go
//
// Machines are replaced when, and only when, the user asked for other ones: a
// template is named by a hash over what was asked for, so another version of
// this operator, which may write a template in other words, rolls nobody's
// nodes. Labels, taints, timeouts and tags are changed in place. What all nodes
// of a cluster have counts once its control plane has it (clustersettings.go).
//
// How things are is read from the Machines themselves (machines.go, rollout.go):
// what a MachineDeployment counts is late, and for a moment after each change wrong.
//
// Nothing here waits for the hosted API server: machines start while it does.
package nodepool
