package pki

import (
	"crypto/x509"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Usage says who shows a certificate.
type Usage int

// The usages that there are.
const (
	Server Usage = 1 << iota
	Client
)

func (u Usage) extended() (out []x509.ExtKeyUsage) {
	if u&Server != 0 {
		out = append(out, x509.ExtKeyUsageServerAuth)
	}
	if u&Client != 0 {
		out = append(out, x509.ExtKeyUsageClientAuth)
	}
	return out
}

// A Request says what a certificate has to be.
type Request struct {
	// User and Groups are the subject: its common name and its organizations,
	// which is how an API server reads them.
	User   string
	Groups []string
	Usage  Usage
	// Hosts are the names and the addresses of a server, in any order and any
	// spelling. Empty ones are not known yet.
	Hosts []string
}

// names are the DNS names among the hosts, each once, in order.
func (r Request) names() (names []string) {
	for _, h := range r.Hosts {
		if _, err := netip.ParseAddr(h); err != nil && h != "" {
			names = append(names, canonicalName(h))
		}
	}
	return set(names)
}

// addresses are the IP addresses among the hosts, each once, in order.
func (r Request) addresses() (addresses []string) {
	for _, h := range r.Hosts {
		if a, err := netip.ParseAddr(h); err == nil {
			addresses = append(addresses, a.Unmap().WithZone("").String())
		}
	}
	return set(addresses)
}

// addressesOf writes addresses of a certificate, which have 4 bytes or 16, as
// addresses does.
func addressesOf(ips []net.IP) (addresses []string) {
	for _, ip := range ips {
		if a, ok := netip.AddrFromSlice(ip); ok {
			addresses = append(addresses, a.Unmap().String())
		}
	}
	return set(addresses)
}

func canonicalName(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// set sorts what has no order and no repetition.
func set(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

// Terms are for how long a certificate is made out.
type Terms struct {
	// Validity is how long it is valid.
	Validity time.Duration
	// Renewal is the share of that time that is left when it is renewed.
	Renewal float64
}

// DefaultTerms leave four months to notice that renewal does not work.
var DefaultTerms = Terms{Validity: 365 * 24 * time.Hour, Renewal: 1.0 / 3}

// due is when a certificate has to be renewed.
func (t Terms) due(cert *x509.Certificate) time.Time {
	life := cert.NotAfter.Sub(cert.NotBefore) - backdate
	return cert.NotAfter.Add(-time.Duration(float64(life) * t.Renewal))
}
