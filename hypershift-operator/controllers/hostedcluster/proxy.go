package hostedcluster

import (
	"context"
	"net/netip"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// checkProxy wants addresses that a client can use.
func checkProxy(hc *hyperv1.HostedCluster) []problem {
	if hc.Spec.Configuration == nil || hc.Spec.Configuration.Proxy == nil {
		return nil
	}
	proxy := hc.Spec.Configuration.Proxy
	var problems []problem
	check := func(field, value string, schemes ...string) {
		if value == "" {
			return
		}
		u, err := url.Parse(value)
		if err == nil && u.Host != "" {
			for _, scheme := range schemes {
				if u.Scheme == scheme {
					return
				}
			}
		}
		// The URL may hold a password.
		problems = append(problems, problemf(hyperv1.InvalidConfigurationReason, "configuration.proxy.%s is not a URL of a proxy: write it like http://proxy.example.com:3128", field))
	}
	check("httpProxy", proxy.HTTPProxy, "http")
	check("httpsProxy", proxy.HTTPSProxy, "http", "https")
	for _, entry := range strings.Split(proxy.NoProxy, ",") {
		if entry = strings.TrimSpace(entry); entry != "" && !exempts(entry) {
			problems = append(problems, problemf(hyperv1.InvalidConfigurationReason,
				"configuration.proxy.noProxy has %q, which is neither a host, a domain, an address nor an address range: correct it", entry))
		}
	}
	return problems
}

// exempts says whether an entry of noProxy means something.
func exempts(entry string) bool {
	if entry == "*" {
		return true
	}
	if _, err := netip.ParsePrefix(entry); err == nil {
		return true
	}
	host := entry
	if i := strings.LastIndex(entry, ":"); i > 0 && strings.Count(entry, ":") == 1 {
		host = entry[:i]
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	return len(validation.IsDNS1123Subdomain(strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(host, "*"), ".")))) == 0
}

// checkProxyTrust wants certificate authorities that can still vouch for the
// proxy: what goes through it would fail on the day the last of them expires.
func (r *Reconciler) checkProxyTrust(ctx context.Context, s *scope) error {
	ref := proxyTrust(&s.hc.Spec)
	if ref == nil {
		return nil
	}
	data, err := r.brought(ctx, s, *ref)
	if err != nil {
		return err
	}
	certs, err := pki.ParseBundle(data[bundleKey])
	if err != nil {
		return err
	}
	for _, cert := range certs {
		if now := r.Clock.Now(); now.After(cert.NotAfter) {
			return reconcile.Wait(0, hyperv1.InvalidConfigMapReason, "ConfigMap %s, which %s names, has a certificate of %q that expired on %s: replace it",
				*ref.name, ref.field, cert.Subject, cert.NotAfter.UTC().Format("2006-01-02"))
		}
	}
	return nil
}
