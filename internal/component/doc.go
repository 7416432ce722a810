// Package component runs the parts of a control plane. A Component is a value:
// a folder of YAML, and small pure functions for what depends on the cluster.
//
//	Render    component.go   assets ─► name, namespace, replicas ─► adapters ─► defaults of every pod
//	            defaults.go    labels, replicas, pull secret, restart
//	            security.go    what the namespace lets in
//	            placement.go   priority, nodes, zones
//	            images.go      keys of the payload ─► references
//	            contents.go    a hash of what is mounted, so that a change rolls the pods
//	Ensure    ensure.go      for all components at once, each after those that it needs:
//	            observe.go     Deployment or StatefulSet ─► is it available, is it rolled out
//	            pods.go        if not, what its pods say
//	            status.go      ─► ControlPlaneComponent
//	Delete    delete.go    all pods at once, and without time
//
// Rendering asks nobody anything: all it knows is in Env, which the controller
// has gathered before. Package componenttest shows what comes of it.
package component
