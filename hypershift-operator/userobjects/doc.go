// Package userobjects handles the Secrets and ConfigMaps that users create in
// the namespace of a HostedCluster and name in its spec.
//
// One list (references.go) decides what is validated (contents.go), what is copied
// to the namespace of the control plane and under which name (copies.go), and what
// is watched (watch.go). The name of a copy cannot collide with the name of an
// object of the operators. A copy stays when its source is missing or invalid.
//
// The objects of users are never written.
package userobjects
