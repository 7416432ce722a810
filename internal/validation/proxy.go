package validation

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func proxyOf(s *hyperv1.HostedClusterSpec) *configv1.ProxySpec {
	if s.Configuration == nil {
		return nil
	}
	return s.Configuration.Proxy
}

// clusterProxy rejects addresses that a client cannot use.
func clusterProxy(proxy *configv1.ProxySpec, path *field.Path) field.ErrorList {
	if proxy == nil {
		return nil
	}
	errs := append(proxyURL(proxy.HTTPProxy, path, "httpProxy", "http"), proxyURL(proxy.HTTPSProxy, path, "httpsProxy", "http", "https")...)
	for _, entry := range strings.Split(proxy.NoProxy, ",") {
		if entry = strings.TrimSpace(entry); entry != "" && !isNoProxyEntry(entry) {
			errs = append(errs, configuration.invalid(path.Child("noProxy"), entry,
				"configuration.proxy.noProxy has %q, which is neither a host, a domain, an address nor an address range: correct it", entry))
		}
	}
	return errs
}

func proxyURL(value string, path *field.Path, name string, schemes ...string) field.ErrorList {
	if value == "" {
		return nil
	}
	if u, err := url.Parse(value); err == nil && u.Host != "" && slices.Contains(schemes, u.Scheme) {
		return nil
	}
	return field.ErrorList{configuration.secret(path.Child(name), "configuration.proxy.%s is not a URL of a proxy: write it like http://proxy.example.com:3128", name)}
}

// isNoProxyEntry reports whether clients understand an entry of noProxy.
func isNoProxyEntry(entry string) bool {
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
