// Package component runs the components of a control plane. A Component is a value: a folder of YAML assets, and small pure
// functions for what depends on the cluster.
//
//	Render    component.go   assets ─► name, namespace, replicas ─► adapters ─► defaults of every pod
//	            defaults.go    labels, replicas, pull secret, restart policy
//	            security.go    the restricted pod security level
//	            placement.go   priority, nodes, zones
//	            images.go      keys of the payload ─► references
//	            contents.go    a hash of what is mounted, so that a change restarts the pods
//	Ensure    ensure.go      all components in parallel, each after those that it depends on:
//	            observe.go     Deployment or StatefulSet ─► is it available, is it rolled out
//	            pods.go        if not, the cause from the status of its pods and Events
//	            status.go      ─► ControlPlaneComponent
//	Delete    delete.go    all pods at once, without grace period
//
// Rendering makes no API calls: all facts are in Env, which the controller has gathered. Package componenttest has the golden
// files of the result.
package component
