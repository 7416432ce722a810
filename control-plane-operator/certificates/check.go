package certificates

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// CheckServiceNetwork requires service networks that have room for the API server's address, which is the first of each.
func CheckServiceNetwork(hcp *hyperv1.HostedControlPlane) error {
	networks := hcp.Spec.Networking.ServiceNetwork
	if len(networks) == 0 {
		return errors.New("spec.networking.serviceNetwork is empty: set it, such as to 172.31.0.0/16")
	}
	for i, network := range networks {
		if _, err := pki.FirstAddress(network.CIDR); err != nil {
			return fmt.Errorf("spec.networking.serviceNetwork[%d]: %w", i, err)
		}
	}
	return nil
}

// CheckNamedCertificate rejects a user's certificate that covers a name of our own certificates. Nodes and the control
// plane trust only our own authority under these names. Without listed names the check uses the names in the
// certificate, if it exists already.
func CheckNamedCertificate(hcp *hyperv1.HostedControlPlane, listed []string, text []byte) error {
	if len(listed) == 0 && len(text) > 0 {
		certs, err := pki.ParseBundle(text)
		if err != nil {
			return err
		}
		listed = certs[0].DNSNames
	}
	reserved := append(publicHosts(hcp, Facts{}), hyperv1.PublishingOf(hcp.Spec.Services, hyperv1.APIServer).Chosen())
	for _, host := range append(reserved, privateHosts(hcp.Namespace)...) {
		if host != hcp.Spec.KubeAPIServerDNSName && pki.FirstCovered(listed, []string{host}) != "" {
			return fmt.Errorf("it is for %s, under which nodes and the control plane expect our own certificate: list the names that it is meant for, or take another certificate", host)
		}
	}
	return nil
}

// maxRenewal prevents that certificates are renewed all the time.
const maxRenewal = 0.9

// minValidity prevents it too. Each renewal writes about 20 Secrets to the etcd that all control planes share.
const minValidity = time.Hour

// requestedValidity returns the validity in the annotation, or 0 if it is missing or cannot be parsed.
func requestedValidity(hcp *hyperv1.HostedControlPlane) time.Duration {
	d, err := time.ParseDuration(hcp.Annotations[hyperv1.CertificateValidityAnnotation])
	if err != nil || d <= 0 {
		return 0
	}
	return max(d, minValidity)
}

// termsOf returns the terms in the annotations. An annotation that cannot be parsed counts as not set.
func termsOf(hcp *hyperv1.HostedControlPlane) pki.Terms {
	terms := pki.DefaultTerms
	if d := requestedValidity(hcp); d > 0 {
		terms.Validity = d
	}
	if f, err := strconv.ParseFloat(hcp.Annotations[hyperv1.CertificateRenewalAnnotation], 64); err == nil && f > 0 && f <= maxRenewal {
		terms.Renewal = f
	}
	return terms
}

// adminValidity is the validity of the administrator's certificates unless the annotation sets another one. A
// certificate cannot be revoked.
const adminValidity = 30 * 24 * time.Hour

// adminTerms returns the terms of the administrator's certificates.
func adminTerms(hcp *hyperv1.HostedControlPlane) pki.Terms {
	terms := termsOf(hcp)
	if requestedValidity(hcp) == 0 {
		terms.Validity = adminValidity
	}
	return terms
}

// breakGlassTerms are the terms of the certificate for access in an emergency.
var breakGlassTerms = pki.Terms{Validity: names.BreakGlassCertificateLife, Renewal: pki.DefaultTerms.Renewal}

// termsOfLeaf returns the terms of a certificate. terms are those in the annotations.
func termsOfLeaf(hcp *hyperv1.HostedControlPlane, l leaf, terms pki.Terms) pki.Terms {
	switch {
	case l.signer == names.CustomerBreakGlassSigner:
		return breakGlassTerms
	case l.User == names.AdminUser:
		return adminTerms(hcp)
	}
	return terms
}

// stepDurationOf returns the shortest duration of a rotation step. An annotation that cannot be parsed counts as not
// set.
func stepDurationOf(hcp *hyperv1.HostedControlPlane, usual time.Duration) time.Duration {
	if d, err := time.ParseDuration(hcp.Annotations[hyperv1.RotationPauseAnnotation]); err == nil && d > 0 {
		return d
	}
	return usual
}
