package hostedcluster

import (
	"crypto/tls"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// ownNames are the names under which nodes and pods reach the API server. They
// trust our certificate authority only, so that no other certificate may answer.
func ownNames(hc *hyperv1.HostedCluster) []string {
	own := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", names.KubeAPIServer}
	if hc.Spec.Platform.PrivateLink() {
		own = append(own, names.LocalAPI(hc.Name))
	}
	if host := hyperv1.PublishingOf(hc.Spec.Services, hyperv1.APIServer).Chosen(); host != "" {
		own = append(own, host)
	}
	return own
}

// checkNamedCertificates refuses a certificate of the user's for one of our names.
func checkNamedCertificates(hc *hyperv1.HostedCluster) []problem {
	if hc.Spec.Configuration == nil || hc.Spec.Configuration.APIServer == nil {
		return nil
	}
	var problems []problem
	for i, c := range hc.Spec.Configuration.APIServer.ServingCerts.NamedCertificates {
		if host := pki.FirstCovered(c.Names, ownNames(hc)); host != "" {
			problems = append(problems, problemf(hyperv1.InvalidConfigurationReason,
				"configuration.apiServer.servingCerts.namedCertificates[%d] is for %s, under which the nodes expect our own certificate: remove the name, or publish APIServer under another", i, host))
		}
		for _, host := range c.Names {
			if !isServerName(host) {
				problems = append(problems, problemf(hyperv1.InvalidConfigurationReason,
					"configuration.apiServer.servingCerts.namedCertificates[%d] has name %q, which is neither a DNS name, one with a leading wildcard, nor an address: write it like api.example.com", i, host))
			}
		}
		if c.ServingCertificate.Name == "" {
			problems = append(problems, problemf(hyperv1.InvalidConfigurationReason,
				"configuration.apiServer.servingCerts.namedCertificates[%d].servingCertificate is empty: name a Secret with %s and %s", i, corev1.TLSCertKey, corev1.TLSPrivateKeyKey))
		}
	}
	return problems
}

// isServerName tells whether a client can ask for a certificate by this name.
// The names of a certificate reach one flag, in which commas separate them.
func isServerName(name string) bool {
	name = strings.ToLower(name)
	return len(validation.IsDNS1123Subdomain(name)) == 0 || len(validation.IsWildcardDNS1123Subdomain(name)) == 0 || len(validation.IsValidIP(field.NewPath("name"), name)) == 0
}

// servingCertificate judges the Secret of a named certificate. Without names
// the API server takes those in the certificate, which may not be ours either.
func servingCertificate(listed, own []string) func(map[string][]byte) error {
	return func(data map[string][]byte) error {
		pair, err := tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
		if err != nil {
			return fmt.Errorf("%s and %s are not a certificate and its key: %w", corev1.TLSCertKey, corev1.TLSPrivateKeyKey, err)
		}
		if len(listed) > 0 {
			return nil
		}
		if host := pki.FirstCovered(pair.Leaf.DNSNames, own); host != "" {
			return fmt.Errorf("the certificate is for %s, under which the nodes expect our own: list the names it is meant for, or take another certificate", host)
		}
		return nil
	}
}
