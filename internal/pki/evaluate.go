package pki

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Evaluate returns the leaf in a Secret, or the reason why a new one must be issued. The reason is for people, and does not
// change while the cause does not.
func Evaluate(data map[string][]byte, want Request, by *Authority, terms Terms, now time.Time) (stays *Leaf, reason string) {
	if len(data[corev1.TLSCertKey]) == 0 && len(data[corev1.TLSPrivateKeyKey]) == 0 {
		return nil, "there is none"
	}
	leaf, err := parseLeaf(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, err.Error()
	}
	if reason := leaf.fault(want, by, terms, now); reason != "" {
		return nil, reason
	}
	return leaf, ""
}

// fault returns why the leaf does not match the request, or "".
func (l *Leaf) fault(want Request, by *Authority, terms Terms, now time.Time) string {
	cert := l.Certificate
	if !by.signed(cert) {
		return "it was signed by another authority"
	}
	if cert.Subject.CommonName != want.User {
		return fmt.Sprintf("it is made out to %q and not to %q", cert.Subject.CommonName, want.User)
	}
	for _, part := range []struct {
		what      string
		has, asks []string
	}{
		{"groups", set(cert.Subject.Organization), set(want.Groups)},
		{"names", set(cert.DNSNames), want.names()},
		{"addresses", addressesOf(cert.IPAddresses), want.addresses()},
	} {
		if !slices.Equal(part.has, part.asks) {
			return fmt.Sprintf("its %s are %s and have to be %s", part.what, list(part.has), list(part.asks))
		}
	}
	if !slices.Equal(cert.ExtKeyUsage, want.Usage.extended()) {
		return "it is made out for another usage"
	}
	switch {
	case cert.NotBefore.After(now):
		return "it is not valid yet"
	case !cert.NotAfter.After(now):
		return "it has expired"
	case cert.NotAfter.After(now.Add(terms.Validity + backdate)): // the clock of its creator may have been ahead
		return "it is valid for longer than is asked for"
	case !terms.due(cert).After(now):
		return "it is time to renew it"
	}
	return ""
}

func list(items []string) string {
	if len(items) == 0 {
		return "none"
	}
	return strings.Join(items, ", ")
}
