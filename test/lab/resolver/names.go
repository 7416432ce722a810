package resolver

import (
	"net/netip"
	"slices"
	"strings"
)

// names are those that the resolver answers for. Names are in small letters, without the last dot.
type names struct {
	// zones are the domains of which we know everything.
	zones []string
	// aliases and addresses of names; that of a wildcard begins with *.
	aliases   map[string]string
	addresses map[string][]netip.Addr
	// endpoints are the load balancers, by ARN, behind the names of VPC endpoints.
	endpoints map[string]string
}

// LoadBalancer is one that carries traffic.
type LoadBalancer struct {
	ARN, Host string
	Address   netip.Addr
}

// answer is what there is to say about a name.
type answer struct {
	// aliases lead from the name asked for to the last one, which has the addresses. Each is one name and what it stands for.
	aliases   [][2]string
	addresses []netip.Addr
	// exists says that there is such a name, ours that nobody else would know it.
	exists, ours bool
}

// maxAliases is more than anybody means, and less than a circle.
const maxAliases = 8

// lookup follows a name, to a load balancer if need be.
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

// step says what a name, or the nearest wildcard above it, stands for.
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

// addressesOf says what is known of a name that is no alias.
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
	return nil, isEndpoint // one whose load balancer has no address is there all the same
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

// covers says whether a name is in one of the zones.
func (n *names) covers(name string) bool {
	return slices.ContainsFunc(n.zones, func(zone string) bool { return name == zone || strings.HasSuffix(name, "."+zone) })
}

// canonical is a name as names have it. Route53 writes some characters as octal numbers: a wildcard begins with \052.
func canonical(name string) string {
	return strings.ToLower(strings.TrimSuffix(strings.ReplaceAll(name, `\052`, "*"), "."))
}
