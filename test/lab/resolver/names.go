package resolver

import (
	"net/netip"
	"slices"
	"strings"
)

// names are the names of the resolver, in lower case, without the trailing dot.
type names struct {
	// zones are the domains for which the resolver is authoritative.
	zones []string
	// aliases and addresses by name; a wildcard begins with *.
	aliases   map[string]string
	addresses map[string][]netip.Addr
	// endpoints are the load balancers, by ARN, behind the names of VPC endpoints.
	endpoints map[string]string
}

// LoadBalancer is a load balancer that forwards traffic.
type LoadBalancer struct {
	ARN, Host string
	Address   netip.Addr
}

// answer is the result for a name.
type answer struct {
	// aliases lead from the requested name to the last one, which has the addresses. Each is a name and its target.
	aliases   [][2]string
	addresses []netip.Addr
	// exists is true for an existing name, ours for a name for which the resolver is authoritative.
	exists, ours bool
}

// maxAliases bounds the length of a chain, and ends cycles.
const maxAliases = 8

// lookup follows aliases of a name, up to a load balancer.
func (n *names) lookup(name string, balancers []LoadBalancer) answer {
	name = canonical(name)
	a := answer{ours: n.covers(name)}
	for range maxAliases {
		alias, addresses, found := n.step(name, balancers)
		if !found {
			return a
		}
		a.exists = true
		if alias == "" {
			a.addresses = addresses
			return a
		}
		a.aliases = append(a.aliases, [2]string{name, alias})
		name = alias
	}
	return a
}

// step returns the alias of a name, or of the nearest wildcard above it.
func (n *names) step(name string, balancers []LoadBalancer) (alias string, addresses []netip.Addr, found bool) {
	for _, candidate := range candidates(name) {
		if alias, found := n.aliases[candidate]; found {
			return alias, nil, true
		}
		if addresses, found := n.addressesOf(candidate, balancers); found {
			return "", addresses, true
		}
	}
	return "", nil, false
}

// addressesOf returns the addresses of a name that is not an alias.
func (n *names) addressesOf(name string, balancers []LoadBalancer) ([]netip.Addr, bool) {
	if addresses, found := n.addresses[name]; found {
		return addresses, true
	}
	arn, isEndpoint := n.endpoints[name]
	for _, b := range balancers {
		if isEndpoint && b.ARN == arn || strings.EqualFold(b.Host, name) {
			return []netip.Addr{b.Address}, true
		}
	}
	return nil, isEndpoint // the name exists even if its load balancer has no address yet
}

// candidates are a name and the wildcards above it, the nearest first.
func candidates(name string) []string {
	all := []string{name}
	for {
		_, above, more := strings.Cut(name, ".")
		if !more {
			return all
		}
		all = append(all, "*."+above)
		name = above
	}
}

// covers reports whether a name is in one of the zones.
func (n *names) covers(name string) bool {
	return slices.ContainsFunc(n.zones, func(zone string) bool { return name == zone || strings.HasSuffix(name, "."+zone) })
}

// canonical normalizes a name. Route53 writes some characters as octal numbers: a wildcard begins with \052.
func canonical(name string) string {
	return strings.ToLower(strings.TrimSuffix(strings.ReplaceAll(name, `\052`, "*"), "."))
}
