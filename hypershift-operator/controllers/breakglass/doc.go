// Package breakglass signs client certificates for access to a hosted cluster in an emergency: it reconciles CertificateSigningRequests of
// the management cluster with a signerName of a control plane.
//
//	signerName hypershift.openshift.io/<namespace>.customer-break-glass ─► HostedControlPlane in that namespace
//	  approval     approval.go  a CertificateSigningRequestApproval with the name of the request, in the same namespace ─► Approved
//	  certificate  sign.go      the authority in the same namespace ─► status.certificate
//	validate.go    what the authority signs; anything else ─► Failed
//
// Everything that decides about a request is in the namespace that its signerName names. So the permission to create a request is worth
// nothing without a permission there, and a permission in one namespace is worth nothing in another one.
//
// The requests belong to the whole management cluster, where control-plane-operators have no permissions. They create the authority, and
// revoke its certificates.
//
// A pause of the HostedCluster does not stop this controller: it changes nothing, and an emergency may be the reason of the pause.
package breakglass
