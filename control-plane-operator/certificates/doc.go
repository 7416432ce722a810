// Package certificates defines the table of a control plane's certificates and reconciles the Secrets and ConfigMaps in it.
//
//	table.go        certificate authorities and trust bundles
//	leaves.go       every certificate: Secret, signer, subject, usage, hosts
//	kubeconfigs.go  every kubeconfig: Secret, server, user and groups
//
// The tables are pure functions of the HostedControlPlane and the known hosts. Ensure works in these steps:
//
//	read      read.go    Secrets and ConfigMaps as they are
//	plan      plan.go    existing certificate authorities, or new ones
//	                     ─► certificates and bundles: kept, or issued again
//	                     ─► nothing differs and everything is rolled out: one step of a rotation
//	apply     ensure.go  authorities first: a CA signs only after its Secret is written
//
// The plan uses the cache. If the plan contains writes, it is made again with a live read from the API server: a stale
// cache must not lead to a second authority. In a steady state there are no writes and no live reads.
//
// Ensure does not wait for load balancers. A certificate gains their names when they appear, and the administrator's
// kubeconfig is created then.
//
// In its namespace the package needs these permissions on Secrets and ConfigMaps: get, list, watch,
// create, patch, delete.
package certificates
