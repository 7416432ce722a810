package names

import (
	"strings"
	"time"
)

const (
	// BreakGlassUserPrefix begins the names of users with certificates of CustomerBreakGlassSigner.
	BreakGlassUserPrefix = "system:customer-break-glass:"
	// BreakGlassCertificateLife is the longest validity of their certificates.
	BreakGlassCertificateLife = 36 * time.Hour
	// SuperuserGroup is the group of which an API server does not check permissions.
	SuperuserGroup = "system:masters"

	// signerDomain is before the slash of a signer name, and breakGlassSignerClass after the namespace of the control plane.
	signerDomain, breakGlassSignerClass = "hypershift.openshift.io/", ".customer-break-glass"
)

// BreakGlassSignerName returns the signerName of CertificateSigningRequests for CustomerBreakGlassSigner of a control plane.
func BreakGlassSignerName(controlPlaneNamespace string) string {
	return signerDomain + controlPlaneNamespace + breakGlassSignerClass
}

// BreakGlassNamespace returns the namespace of the control plane in such a signerName, or "".
func BreakGlassNamespace(signerName string) string {
	rest, ok := strings.CutPrefix(signerName, signerDomain)
	if !ok {
		return ""
	}
	namespace, ok := strings.CutSuffix(rest, breakGlassSignerClass)
	if !ok || strings.Contains(namespace, ".") { // the name of a namespace has no dot
		return ""
	}
	return namespace
}
