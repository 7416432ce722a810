package pki

import (
	"slices"
	"strings"
)

// FirstCovered returns the first of the hosts that a certificate with these names is valid for, or "".
func FirstCovered(names, hosts []string) string {
	for _, host := range hosts {
		if slices.ContainsFunc(names, func(name string) bool { return covers(name, host) }) {
			return host
		}
	}
	return ""
}

// covers compares names as TLS does: a wildcard matches one label.
func covers(name, host string) bool {
	if rest, ok := strings.CutPrefix(name, "*."); ok {
		_, domain, _ := strings.Cut(host, ".")
		return domain != "" && strings.EqualFold(rest, domain)
	}
	return strings.EqualFold(name, host)
}
