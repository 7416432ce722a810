package v1beta1

// Reasons of conditions about the certificates of a control plane.
const (
	// CertificateAuthorityBrokenReason: the Secret of a certificate authority has its private key and not its certificate. Put
	// the certificate back, or delete the Secret: another authority takes its place, and everything that trusts the old one
	// has to be told.
	CertificateAuthorityBrokenReason = "CertificateAuthorityBroken"
)
