package kubeapiserver

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/certificates"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
)

// addTLS sets the TLS version and the ciphers for clients.
func addTLS(env *target.ControlPlane, p *pod) error {
	profile, err := tlsProfile(apiServer(env).TLSSecurityProfile)
	if err != nil {
		return err
	}
	p.arg("--tls-min-version=" + string(profile.MinTLSVersion))
	if suites := cipherSuites(profile.Ciphers); len(suites) > 0 && profile.MinTLSVersion != configv1.VersionTLS13 {
		if !slices.ContainsFunc(suites, servesHTTP2) {
			return fmt.Errorf("configuration.apiServer.tlsSecurityProfile has neither ECDHE-ECDSA-AES128-GCM-SHA256 nor ECDHE-RSA-AES128-GCM-SHA256, and HTTP/2 requires one of them: add it")
		}
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

// tlsProfile returns the configured profile. The default is Intermediate.
func tlsProfile(p *configv1.TLSSecurityProfile) (configv1.TLSProfileSpec, error) {
	switch {
	case p == nil || p.Type == "":
		return *configv1.TLSProfiles[configv1.TLSProfileIntermediateType], nil
	case p.Type == configv1.TLSProfileCustomType && p.Custom != nil:
		return p.Custom.TLSProfileSpec, nil
	case configv1.TLSProfiles[p.Type] != nil:
		return *configv1.TLSProfiles[p.Type], nil
	}
	return configv1.TLSProfileSpec{}, fmt.Errorf("configuration.apiServer.tlsSecurityProfile is of type %q: use Old, Intermediate, Modern, or Custom with custom", p.Type)
}

// cipherSuites returns the Go names of the ciphers that Go supports for TLS 1.2 and older. The ciphers of TLS 1.3 cannot
// be configured.
func cipherSuites(openssl []string) []string {
	known := map[string]bool{}
	for _, suite := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		known[suite.Name] = suite.SupportedVersions[0] < tls.VersionTLS13
	}
	var suites []string
	for _, name := range openssl {
		if suite := goName(name); known[suite] && !slices.Contains(suites, suite) {
			suites = append(suites, suite)
		}
	}
	return suites
}

// goName returns Go's name of a cipher. It is the name in the IANA registry except for two ciphers.
func goName(openssl string) string {
	if strings.HasPrefix(openssl, "TLS_") {
		return openssl
	}
	exchange, rest := "RSA", openssl
	for _, prefix := range []string{"ECDHE-ECDSA", "ECDHE-RSA"} {
		if after, ok := strings.CutPrefix(openssl, prefix+"-"); ok {
			exchange, rest = strings.ReplaceAll(prefix, "-", "_"), after
		}
	}
	cipher := map[string]string{
		"AES128-GCM-SHA256": "AES_128_GCM_SHA256", "AES256-GCM-SHA384": "AES_256_GCM_SHA384", "CHACHA20-POLY1305": "CHACHA20_POLY1305_SHA256",
		"AES128-SHA256": "AES_128_CBC_SHA256", "AES128-SHA": "AES_128_CBC_SHA", "AES256-SHA": "AES_256_CBC_SHA", "DES-CBC3-SHA": "3DES_EDE_CBC_SHA",
	}[rest]
	return "TLS_" + exchange + "_WITH_" + cipher
}

func servesHTTP2(suite string) bool {
	return suite == "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256" || suite == "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
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
