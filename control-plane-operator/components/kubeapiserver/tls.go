package kubeapiserver

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/certificates"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/apiserverconfig"
)

// addTLS sets the TLS version and the ciphers for clients.
func addTLS(env *target.ControlPlane, p *pod) error {
	minVersion, suites, err := apiserverconfig.TLS(apiServer(env).TLSSecurityProfile)
	if err != nil {
		return err
	}
	p.arg("--tls-min-version=" + string(minVersion))
	if len(suites) > 0 {
		p.arg("--tls-cipher-suites=" + strings.Join(suites, ","))
	}
	for _, origin := range apiServer(env).AdditionalCORSAllowedOrigins {
		p.arg("--cors-allowed-origins=" + quoted(origin))
	}
	return nil
}

// quoted quotes a regular expression with commas, because commas separate values.
func quoted(value string) string {
	if !strings.ContainsAny(value, `,"`) {
		return value
	}
	return `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
}

// addNamedCertificates adds the user's certificates. A certificate without listed names is used for the names in it. A
// certificate for one of our own names is rejected: clients of that name do not trust it.
func addNamedCertificates(env *target.ControlPlane, p *pod) error {
	for i, named := range apiServer(env).ServingCerts.NamedCertificates {
		shown := env.SecretData(named.ServingCertificate.Name, corev1.TLSCertKey)
		if err := certificates.CheckNamedCertificate(env.HCP, named.Names, shown); err != nil {
			return fmt.Errorf("spec.configuration.apiServer.servingCerts.namedCertificates[%d] cannot be used: %w", i, err)
		}
		dir := p.mountSecret(fmt.Sprintf("named-%d", i), named.ServingCertificate.Name)
		pair := dir + "/" + corev1.TLSCertKey + "," + dir + "/" + corev1.TLSPrivateKeyKey
		if len(named.Names) > 0 {
			pair += ":" + strings.Join(named.Names, ",")
		}
		p.arg("--tls-sni-cert-key=" + pair)
	}
	return nil
}
