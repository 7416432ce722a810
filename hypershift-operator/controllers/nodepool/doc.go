// Package nodepool reconciles NodePools: it creates the objects from which Cluster API creates machines, reports their state, and
// deletes them.
//
//	live      configuration ► finalizer ►                                         live.go
//	            update management        is the upgrade type supported?
//	            release                  of the nodes, and their programs
//	            node configuration, tuning     from the user's ConfigMaps
//	            health check             when is a machine broken?
//	          ► version                  does the API server support it?
//	            architecture, machine image    does the release have them?
//	            instance type            does EC2 have it, and the architecture?
//	            security group           of all workers of the cluster
//	          ► control plane namespace ►
//	            cluster-wide node settings     proxy, SSH keys, trust bundle
//	            machine template         named by a hash of the spec
//	            user data                NodeBootstrapTemplate and its inputs
//	          ► end of the pause
//	          ► MachineDeployment        and the MachineHealthCheck
//	          ► tags and security groups of machines
//	            old templates
//	            machines that do not join      replaced with back-off
//
//	paused    configuration ► pause                                               live.go
//
//	deleting  end of the pause ► drain ► MachineDeployment ► machines ►
//	          templates ► finalizer                                               deleting.go
//
//	lost      the same for a NodePool that no longer exists                       deleting.go
//
// Each step is one call of a package under hypershift-operator/nodepool. The result of the call is a fact in the scope:
//
//	requirements    checks the conditions for creating machines
//	machines        derives the objects from a Spec, and applies them
//	objects         reads, pauses and prunes them
//	machinestate    summarizes the state of machines for conditions
//	repair          replaces machines that do not join
//	deletion        deletes the objects in order
//
// Settings of the HostedCluster are used once the HostedControlPlane has them (package clustersettings). Conditions are derived from
// the facts (status.go, status_machines.go).
//
// The control-plane-operator determines why a machine does not join, with the role of the customer's account. It reports this in
// the status of the HostedControlPlane, from where it reaches the conditions of the pool.
//
// No step waits for the hosted API server: machines start at the same time.
package nodepool
