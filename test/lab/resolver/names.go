package resolver

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// amazon is the domain of the names that AWS assigns.
const amazon = "amazonaws.com"

// region is the region of all accounts, S3 the domain of the names of its buckets, and STS the name of STS.
const (
	region = "us-east-1"
	S3     = "s3." + region + "." + amazon
	STS    = "sts." + region + "." + amazon
)

// internal is the domain of the host names of instances. In other regions it is REGION.compute.internal.
const internal = "ec2.internal"

// names are the names of all accounts.
type names struct {
	zones []zone
	// addresses are the addresses of names that AWS assigns, which every client may resolve.
	addresses map[string][]netip.Addr
	// s3 is the address of S3 and STS.
	s3 netip.Addr
	// cidrs are the addresses of each VPC.
	cidrs map[string][]netip.Prefix
}

// zone is a hosted zone. Its names are in lower case, without the trailing dot; a wildcard begins with *.
type zone struct {
	name      string
	private   bool
	vpcs      []string
	aliases   map[string]string
	addresses map[string][]netip.Addr
}

// build collects the names.
func build(network *awsemulator.Network, balancers []LoadBalancer) *names {
	n := &names{addresses: map[string][]netip.Addr{}, cidrs: map[string][]netip.Prefix{}}
	for _, v := range network.VPCs {
		n.cidrs[v.ID] = v.CIDRs
	}
	for _, z := range network.Zones {
		n.zones = append(n.zones, newZone(z))
	}
	n.addEndpoints(network)
	n.addBalancers(network)
	for _, b := range balancers {
		n.addresses[canonical(b.Host)] = []netip.Addr{b.Address}
	}
	return n
}

func newZone(from awsemulator.Zone) zone {
	z := zone{name: canonical(from.Name), private: from.Private, vpcs: from.VPCs, aliases: map[string]string{}, addresses: map[string][]netip.Addr{}}
	for _, r := range from.Records {
		name := canonical(r.Name)
		if r.Alias != "" {
			z.aliases[name] = canonical(r.Alias)
		}
		for _, value := range r.Values {
			if r.Type == "CNAME" {
				z.aliases[name] = canonical(value)
			} else if address, err := netip.ParseAddr(value); err == nil && r.Type == "A" {
				z.addresses[name] = append(z.addresses[name], address)
			}
		}
	}
	return z
}

// addEndpoints adds the names of available endpoints: the first name gets the addresses of all interfaces, each other name
// the address of the interface in its zone. They are the same wherever the client is.
func (n *names) addEndpoints(network *awsemulator.Network) {
	addresses := map[string]netip.Addr{}
	for _, i := range network.Interfaces {
		addresses[i.ID] = i.Address
	}
	for _, e := range network.Endpoints {
		if e.State != "available" {
			continue
		}
		for at, name := range e.Names {
			for number, id := range e.Interfaces {
				if at == 0 || at == number+1 {
					n.addresses[canonical(name)] = append(n.addresses[canonical(name)], addresses[id])
				}
			}
		}
	}
}

// addBalancers adds the names of internal load balancers, which have the addresses of their interfaces.
func (n *names) addBalancers(network *awsemulator.Network) {
	for _, b := range network.Balancers {
		for _, i := range network.Interfaces {
			if b.Active && b.Internal && i.Of(b) {
				n.addresses[canonical(b.Host)] = append(n.addresses[canonical(b.Host)], i.Address)
			}
		}
	}
}

// answer is the result for a name.
type answer struct {
	// aliases lead from the requested name to the last one, to which the addresses belong. Each is a name and its target.
	aliases   [][2]string
	addresses []netip.Addr
	// exists is true for an existing name, ours for a name for which the resolver is authoritative.
	exists, ours bool
}

// maxAliases bounds the length of a chain, and ends cycles.
const maxAliases = 8

// lookup follows aliases of a name, as the resolver of a VPC sees them.
func (n *names) lookup(name, vpc string) answer {
	name = canonical(name)
	a := answer{ours: n.authoritative(name, vpc)}
	for range maxAliases {
		alias, addresses, found := n.step(name, vpc)
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

func (n *names) authoritative(name, vpc string) bool {
	_, has := n.zoneOf(name, vpc)
	return has || within(name, amazon) || within(name, internal)
}

// step returns the alias of a name, or its addresses. A name in a zone is answered from that zone alone.
func (n *names) step(name, vpc string) (alias string, addresses []netip.Addr, found bool) {
	z, has := n.zoneOf(name, vpc)
	if !has {
		if host, is := n.host(name, vpc); is {
			return "", []netip.Addr{host}, true
		}
		bucket := within(name, S3) && strings.Count(strings.TrimSuffix(name, S3), ".") <= 1
		if n.s3.IsValid() && (bucket || name == STS) {
			return "", []netip.Addr{n.s3}, true
		}
		addresses, found = n.addresses[name]
		return "", addresses, found
	}
	for _, candidate := range candidates(name) {
		if alias, found := z.aliases[candidate]; found {
			return alias, nil, true
		}
		if addresses, found := z.addresses[candidate]; found {
			return "", addresses, true
		}
	}
	return "", nil, false
}

// zoneOf is the zone that answers for a name in a VPC: the one with the longest name; of two with the same, the private one.
// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/hosted-zone-private-considerations.html
func (n *names) zoneOf(name, vpc string) (best zone, found bool) {
	for _, z := range n.zones {
		if !within(name, z.name) || z.private && !slices.Contains(z.vpcs, vpc) {
			continue
		}
		if !found || len(z.name) > len(best.name) || len(z.name) == len(best.name) && z.private {
			best, found = z, true
		}
	}
	return best, found
}

// host is the address in the host name of an instance of the VPC.
func (n *names) host(name, vpc string) (netip.Addr, bool) {
	label, domain, _ := strings.Cut(name, ".")
	digits, is := strings.CutPrefix(label, "ip-")
	address, err := netip.ParseAddr(strings.ReplaceAll(digits, "-", "."))
	if !is || err != nil || domain != internal {
		return netip.Addr{}, false
	}
	return address, slices.ContainsFunc(n.cidrs[vpc], func(p netip.Prefix) bool { return p.Contains(address) })
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

// within reports whether a name is a domain's name, or below it.
func within(name, domain string) bool { return name == domain || strings.HasSuffix(name, "."+domain) }

// canonical normalizes a name. Route53 writes some characters as octal numbers: a wildcard begins with \052.
func canonical(name string) string {
	return strings.ToLower(strings.TrimSuffix(strings.ReplaceAll(name, `\052`, "*"), "."))
}
