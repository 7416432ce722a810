package hostedcluster

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// ownNames are the names under which nodes and pods reach the API server. They
// trust our certificate authority only, so that no other certificate may answer.
func ownNames(hc *hyperv1.HostedCluster) []string {
	own := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", names.KubeAPIServer}
	if hc.Spec.Platform.PrivateLink() {
		own = append(own, names.LocalAPI(hc.Name))
	}
	for _, svc := range hc.Spec.Services {
		if host := svc.ServicePublishingStrategy.Hostname(); svc.Service == hyperv1.APIServer && host != "" {
			own = append(own, host)
		}
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
		if host := firstTaken(c.Names, ownNames(hc)); host != "" {
			problems = append(problems, problemf(hyperv1.InvalidConfigurationReason,
				"configuration.apiServer.servingCerts.namedCertificates[%d] is for %s, under which the nodes expect our own certificate: remove the name, or publish APIServer under another", i, host))
		}
		if c.ServingCertificate.Name == "" {
			problems = append(problems, problemf(hyperv1.InvalidConfigurationReason,
				"configuration.apiServer.servingCerts.namedCertificates[%d].servingCertificate is empty: name a Secret with %s and %s", i, corev1.TLSCertKey, corev1.TLSPrivateKeyKey))
		}
	}
	return problems
}

// firstTaken is the first host that one of the names of a certificate covers.
func firstTaken(certificate, hosts []string) string {
	for _, host := range hosts {
		if slices.ContainsFunc(certificate, func(name string) bool { return covers(name, host) }) {
			return host
		}
	}
	return ""
}

// covers compares as TLS does: a wildcard stands for one label.
func covers(name, host string) bool {
	if rest, ok := strings.CutPrefix(name, "*."); ok {
		_, domain, _ := strings.Cut(host, ".")
		return domain != "" && strings.EqualFold(rest, domain)
	}
	return strings.EqualFold(name, host)
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
		if host := firstTaken(pair.Leaf.DNSNames, own); host != "" {
			return fmt.Errorf("the certificate is for %s, under which the nodes expect our own: list the names it is meant for, or take another certificate", host)
		}
		return nil
	}
}

// certificates reads a bundle, in which there must be at least one.
func certificates(text []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("it has a PEM block of type %s beside the certificates", block.Type)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(certs)+1, err)
		}
		certs = append(certs, cert)
	}
	if len(certs) == 0 {
		return nil, errors.New("it has no certificate in PEM")
	}
	return certs, nil
}
