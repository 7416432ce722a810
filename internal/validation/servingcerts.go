package validation

import (
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/routes"
)

// ReservedServerNames are the names by which nodes and pods reach the API server.
// They trust the cluster's own certificate authority only, so that no other
// certificate may be served for these names.
func ReservedServerNames(hc *hyperv1.HostedCluster) []string {
	reserved := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", names.KubeAPIServer}
	if hc.Spec.Platform.PrivateLink() {
		reserved = append(reserved, names.LocalAPI(hc.Name))
	}
	if host := hyperv1.PublishingOf(routes.WithHosts(hc.Name, &hc.Spec, false), hyperv1.APIServer).Chosen(); host != "" {
		reserved = append(reserved, host)
	}
	return reserved
}

func apiServerOf(s *hyperv1.HostedClusterSpec) *configv1.APIServerSpec {
	if s.Configuration == nil {
		return nil
	}
	return s.Configuration.APIServer
}

// namedCertificates rejects a user's certificate for a reserved name.
func namedCertificates(api *configv1.APIServerSpec, reserved []string) field.ErrorList {
	if api == nil {
		return nil
	}
	var errs field.ErrorList
	for i, c := range api.ServingCerts.NamedCertificates {
		path := spec.Child("configuration", "apiServer", "servingCerts", "namedCertificates").Index(i)
		if host := pki.FirstCovered(c.Names, reserved); host != "" {
			errs = append(errs, configuration.invalid(path.Child("names"), c.Names,
				"configuration.apiServer.servingCerts.namedCertificates[%d] is for %s, under which the nodes expect our own certificate: remove the name, or publish APIServer under another", i, host))
		}
		for j, host := range c.Names {
			if !isServerName(host) {
				errs = append(errs, configuration.invalid(path.Child("names").Index(j), host,
					"configuration.apiServer.servingCerts.namedCertificates[%d] has name %q, which is neither a DNS name, one with a leading wildcard, nor an address: write it like api.example.com", i, host))
			}
		}
		if c.ServingCertificate.Name == "" {
			errs = append(errs, configuration.required(path.Child("servingCertificate", "name"),
				"configuration.apiServer.servingCerts.namedCertificates[%d].servingCertificate is empty: name a Secret with %s and %s", i, corev1.TLSCertKey, corev1.TLSPrivateKeyKey))
		}
	}
	return errs
}

// isServerName reports whether a client can ask for a certificate by this name.
// The names of a certificate end up in one flag, in which commas separate them.
func isServerName(name string) bool {
	name = strings.ToLower(name)
	return len(validation.IsDNS1123Subdomain(name)) == 0 || len(validation.IsWildcardDNS1123Subdomain(name)) == 0 || len(validation.IsValidIP(field.NewPath("name"), name)) == 0
}
