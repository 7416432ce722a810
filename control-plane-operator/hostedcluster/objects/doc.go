// Package objects applies sets of objects inside a hosted cluster.
//
//	set.go          a set: its name, its kinds, and its desired objects
//	builder.go      the facts from which one reconcile makes them
//	permissions.go  permissions                             assets/permissions*.yaml
//	endpoints.go    api-endpoints, cluster-info
//	nodes.go        node-authorities
//	tokens.go       bootstrap-tokens
//	images.go       pull-secret, and the images of the release
//	podidentity.go  pod-identity-webhook                    assets/pod-identity-webhook.yaml
//	workloads.go    coredns, kube-proxy, konnectivity-agent, metrics-server, traefik, aws-ebs-csi-driver-node: package components
//	podnetwork.go   flannel, if the release has it
//
// The release payload decides which of the last sets exist: a set without an image is omitted. They follow the control plane to a new
// release, and are never newer.
//
// The operator has its own identity in the hosted cluster. It has the permissions that this package needs, but cannot grant
// permissions. Permissions are set up with another certificate, which is signed in memory and valid for ten minutes.
//
// A set is read when its desired state has changed, and otherwise every Options.Interval.
package objects
