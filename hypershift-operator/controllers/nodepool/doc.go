// Package nodepool reconciles NodePools: it creates the objects from which Cluster API creates machines, reports their state, and
// deletes them.
//
//	live      configuration ► finalizer ►
//	            update management        is the upgrade type supported?          management.go
//	            release                  of the nodes                            release.go
//	            node configuration, tuning     from ConfigMaps of the user       nodeconfig.go
//	            health check             when a machine is broken                healthcheck.go
//	          ► version                  does the API server support it?         version.go
//	            architecture, machine image    does the release have them?       image.go
//	            instance type            does EC2 have it, and the architecture? instancetype.go
//	            security group           of all workers of the cluster           securitygroup.go
//	          ► control plane namespace ►
//	            cluster-wide node settings     proxy, SSH keys, trust bundle     clustersettings.go
//	            machine template         named by a hash of the spec             template.go
//	            user data                NodeBootstrapTemplate and its inputs    bootstrap.go
//	          ► end of the pause                                                 pause.go
//	          ► MachineDeployment, MachineHealthCheck                            machinedeployment.go
//	          ► tags and security groups of machines that exist                  inplace.go
//	          ► old templates                                                    prune.go
//	            machines that do not join      replaced with back-off            repair.go
//
//	paused    configuration ► pause of MachineDeployment, MachineHealthCheck     pause.go
//
//	deleting  end of the pause ► drain ► MachineDeployment, MachineHealthCheck ►
//	          machines ► templates, Secrets ► finalizer                          delete.go
//
//	lost      the same for a NodePool that no longer exists: its finalizer was
//	          removed by hand, or it was deleted before it had one               adoption.go
//
// Machines are replaced only when the user specifies other ones. A template is named by a hash of what the user has specified:
// another version of the operator may write other templates, and still replaces no machine. Labels, taints, timeouts and tags are
// changed in place. Settings of the HostedCluster are used once the HostedControlPlane has them (package clustersettings).
//
// The state is read from the Machines (machines.go, rollout.go). The counters of a MachineDeployment are late, and wrong for a
// moment after each change.
//
// The control-plane-operator determines why a machine does not join, with the role of the customer's account. It reports this in
// the status of the HostedControlPlane, from where it reaches the conditions of the pool (causes.go).
//
// No step waits for the hosted API server: machines start at the same time.
package nodepool
