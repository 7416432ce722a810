package apiserverconfig

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
)

// TLS returns the lowest version of TLS that the API server accepts, and Go's names of the cipher suites; none if they cannot be
// configured. The default profile is Intermediate.
func TLS(p *configv1.TLSSecurityProfile) (minVersion configv1.TLSProtocolVersion, suites []string, err error) {
	profile, err := tlsProfile(p)
	if err != nil || profile.MinTLSVersion == configv1.VersionTLS13 {
		return profile.MinTLSVersion, nil, err
	}
	suites = cipherSuites(profile.Ciphers)
	if len(suites) > 0 && !slices.ContainsFunc(suites, servesHTTP2) {
		return profile.MinTLSVersion, nil, errors.New("configuration.apiServer.tlsSecurityProfile has neither ECDHE-ECDSA-AES128-GCM-SHA256 nor ECDHE-RSA-AES128-GCM-SHA256, and HTTP/2 requires one of them: add it")
	}
	return profile.MinTLSVersion, suites, nil
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
	supported := map[string]bool{}
	for _, suite := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		supported[suite.Name] = suite.SupportedVersions[0] < tls.VersionTLS13
	}
	var suites []string
	for _, name := range openssl {
		if suite := goName(name); supported[suite] && !slices.Contains(suites, suite) {
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
