package v1beta1

// Reasons of conditions about the certificates of a control plane.
const (
	// CertificateAuthorityBrokenReason: the Secret of a certificate authority has its private key but not its
	// certificate. Restore the certificate. If it is lost, delete the authority from the Secret: a new one is created,
	// and every client that trusts the old one needs the new certificate.
	CertificateAuthorityBrokenReason = "CertificateAuthorityBroken"
)
