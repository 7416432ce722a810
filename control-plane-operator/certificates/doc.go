// Package certificates has the table of the certificates of a control plane, and
// keeps it true.
//
//	table.go        who signs, and what is trusted
//	leaves.go       every certificate: Secret, signer, subject, usage, hosts
//	kubeconfigs.go  every kubeconfig: Secret, server, who it makes its owner
//
// These are pure functions of the HostedControlPlane and of the hosts that are
// known. A pass of Ensure is
//
//	read      read.go    Secrets and ConfigMaps as they are
//	plan      plan.go    signers as they are, or new ones
//	                     ─► what they have signed and what trusts them: kept, or made anew
//	                     ─► all is as it should be and rolled out: one step of a rotation
//	apply     ensure.go  signers first: nothing is signed by who is not written down
//
// It plans with what the cache has. If that means to write, it plans again with
// what the API server has: an authority that the cache does not know yet must
// not be made a second time. At rest nothing is written and nobody is asked.
//
// It does not wait for load balancers. A certificate gains their names when they
// appear, and the administrator's kubeconfig is made then.
//
// In its namespace it needs, of Secrets and of ConfigMaps: get, list, watch,
// create, patch, delete.
package certificates
