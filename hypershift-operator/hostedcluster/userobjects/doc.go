// Package userobjects handles the Secrets and ConfigMaps that users create in
// the namespace of a HostedCluster and name in its spec.
//
// One list (references.go) decides which objects are validated (contents.go), copied to the control
// plane's namespace and under which name (copies.go), and watched (watch.go). The name of a copy
// cannot collide with the name of an object of the operators. A copy stays when its source is missing
// or invalid.
//
// The objects of users are never written.
package userobjects
