// Package certificaterevocation reconciles CertificateRevocationRequests: it has the certificates of a class of authorities refused by
// every API server of the control plane, without an outage for other clients.
//
//	signer class              SignerClassValid              the class is known
//	root certificates         RootCertificatesRegenerated   store the previous authority, wait for the next one
//	trust in certificates     NewCertificatesTrusted        every pod of the API server accepts the next authority
//	leaf certificates         LeafCertificatesRegenerated   the next authority signs
//	previous certificates     PreviousCertificatesRevoked   every pod refuses the previous authority, and accepts the new one
//
// The components controller has the only writer of certificates (package certificates). It reads this status: a stored previous
// authority starts the rotation, and NewCertificatesTrusted lets the next authority sign. After a crash both continue from the objects.
//
// API servers read the bundle of their clients' authorities again when the file changes, within about a minute. No pod restarts. The
// steps do not trust the file: they connect to each pod with a certificate that is valid for minutes and has no permissions.
package certificaterevocation
