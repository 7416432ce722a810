package pki

import (
	"crypto/x509"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Usage is the purpose of a certificate.
type Usage int

// The usages.
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

// A Request describes a desired certificate.
type Request struct {
	// User and Groups are the subject: its common name and its organizations, as an API server reads them.
	User   string
	Groups []string
	Usage  Usage
	// Hosts are the names and the addresses of a server, in any order and notation. Empty ones are not known yet.
	Hosts []string
}

// names returns the DNS names among the hosts, sorted and without duplicates.
func (r Request) names() (names []string) {
	for _, h := range r.Hosts {
		if _, err := netip.ParseAddr(h); err != nil && h != "" {
			names = append(names, canonicalName(h))
		}
	}
	return set(names)
}

// addresses returns the IP addresses among the hosts, sorted and without duplicates.
func (r Request) addresses() (addresses []string) {
	for _, h := range r.Hosts {
		if a, err := netip.ParseAddr(h); err == nil {
			addresses = append(addresses, a.Unmap().WithZone("").String())
		}
	}
	return set(addresses)
}

// addressesOf returns the addresses of a certificate, which have 4 or 16 bytes, in the same form as addresses.
func addressesOf(ips []net.IP) (addresses []string) {
	for _, ip := range ips {
		if a, ok := netip.AddrFromSlice(ip); ok {
			addresses = append(addresses, a.Unmap().String())
		}
	}
	return set(addresses)
}

func canonicalName(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// set sorts and removes duplicates.
func set(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

// Terms are the durations of a certificate.
type Terms struct {
	// Validity is how long it is valid.
	Validity time.Duration
	// Renewal is the share of the validity that remains when it is renewed.
	Renewal float64
}

// DefaultTerms leave four months to notice that renewal fails.
var DefaultTerms = Terms{Validity: 365 * 24 * time.Hour, Renewal: 1.0 / 3}

// due returns when a certificate has to be renewed.
func (t Terms) due(cert *x509.Certificate) time.Time {
	life := cert.NotAfter.Sub(cert.NotBefore) - backdate
	return cert.NotAfter.Add(-time.Duration(float64(life) * t.Renewal))
}
