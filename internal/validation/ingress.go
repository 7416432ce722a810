package validation

import (
	"strings"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/routes"
)

// ingress rejects a domain of applications that DNS cannot have, and one whose certificate would be valid for the API server: users of the hosted
// cluster have its key.
func ingress(hc *hyperv1.HostedCluster) field.ErrorList {
	domain, path := routes.Applications(hc.Name, hc.Spec.DNS, hc.Spec.Configuration), spec.Child("dns", "baseDomain")
	if c := hc.Spec.Configuration; c != nil && c.Ingress != nil && c.Ingress.Domain == domain {
		path = spec.Child("configuration", "ingress", "domain")
	}
	if domain == "" || !hc.Spec.Capabilities.Enables(hyperv1.IngressCapability) {
		return nil
	}
	if problems := utilvalidation.IsWildcardDNS1123Subdomain("*." + domain); len(problems) > 0 {
		return field.ErrorList{configuration.invalid(path, domain, "the domain of applications is %s: choose one of labels with lower-case letters, digits and dashes, with at most 251 characters", domain)}
	}
	for _, name := range append(ReservedServerNames(hc), hc.Spec.KubeAPIServerDNSName) {
		if _, parent, _ := strings.Cut(name, "."); parent == domain {
			return field.ErrorList{configuration.invalid(path, domain, "applications would have a certificate that is valid for the API server, %s: choose another domain", name)}
		}
	}
	for _, reserved := range []string{"svc", "cluster.local", "hypershift.local"} {
		if domain == reserved || strings.HasSuffix(domain, "."+reserved) {
			return field.ErrorList{configuration.invalid(path, domain, "names in %s are those of the control plane: choose another domain", reserved)}
		}
	}
	return nil
}
