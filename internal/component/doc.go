// Package component runs workloads: control planes, the control-plane-operator and Cluster API, and workloads inside hosted
// clusters. A Component is a value: a folder of YAML assets, and small pure functions for the cluster-specific fields. Its
// Target holds the facts of one cluster, and the defaults of all components there.
//
//	Render    component.go   assets ─► Target.Prepare ─► adapters ─► images ─► Target.Finish ─► Target.Complete
//	            images.go      names of images ─► references
//	            workload.go    common fields of Deployments, StatefulSets and DaemonSets
//	          for Targets      security.go: the restricted pod security level; placement.go: priority, eviction from
//	                           unreachable nodes; limits.go: memory, volumes; trust.go: certificate
//	                           authorities of the user
//	RenderAll rendered.go    the components that the cluster has, rendered
//	            join.go        the containers of a component in the pods of another, between Finish and Complete
//
// For the components of a control plane, Runner.Ensure applies the objects that RenderAll returns, and reports on them:
//
//	Ensure    ensure.go      all components in parallel, each after those that it depends on:
//	            observe.go     Deployment or StatefulSet, or own containers in shared pods ─► is it available, is it rolled out
//	            pods.go        if not, the cause from the status of its pods and Events
//	            problem.go     why one pod does not become ready
//	            status.go      ─► ControlPlaneComponent
//	Delete    delete.go    all pods at once, without grace period
//
// In hosted clusters, control-plane-operator/hostedcluster/objects applies the objects.
//
// Rendering makes no API calls: all facts are in the Target, which a controller has gathered. Package componenttest
// compares the result with golden files.
package component
