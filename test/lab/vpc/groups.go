package vpc

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/lab/nftables"
)

// Addresses that every VPC has, and that security groups do not apply to:
// https://docs.aws.amazon.com/vpc/latest/userguide/vpc-security-groups.html
var (
	metadataAddress = netip.MustParseAddr("169.254.169.254")
	dnsAddress      = netip.MustParseAddr("169.254.169.253")
)

// metadataAddress6 is the address of the metadata service for IPv6, which only the management VPC has.
var metadataAddress6 = netip.MustParseAddr("fd00:ec2::254")

// state is one VPC.
type state struct {
	awsemulator.VPC
	subnets    map[string]awsemulator.NetworkSubnet
	interfaces []awsemulator.NetworkInterface
	groups     map[string]awsemulator.SecurityGroup
	// pods are the pod ranges of instances, which their interfaces may send from.
	pods map[string][]netip.Prefix
	// management: it is the management VPC, and controlPlane the address of its API server, if there is one.
	management   bool
	controlPlane netip.Addr
}

// resolver is the address of the resolver within the VPC: the second one after its base.
func (s state) resolver() netip.Addr { return s.CIDRs[0].Masked().Addr().Next().Next() }

// nameserver is the first DNS server of the DHCP options of the VPC. AmazonProvidedDNS is the resolver.
func (s state) nameserver() netip.Addr {
	for _, server := range s.DNSServers {
		if address, err := netip.ParseAddr(server); err == nil {
			return address
		}
	}
	return s.resolver()
}

// gateway is the address of the router in a subnet.
func gateway(subnet netip.Prefix) netip.Addr { return subnet.Masked().Addr().Next() }

// link is the name of the link to an instance.
func link(i awsemulator.NetworkInterface) string {
	id := strings.TrimPrefix(i.ID, "eni-")
	return instanceLinks + id[max(0, len(id)-12):]
}

// instanceLinks is the prefix of the names of the links to instances.
const instanceLinks = "eni"

// internetLink is the link to the internet.
const internetLink = "internet"

// Names of sets and chains.
const (
	senders  = "senders"  // link ─► chain
	byLink   = "links"    // link ─► chain
	local    = "local"    // address of the router ─► chain
	outwards = "internet" // addresses with a way to the internet; in the management VPC links, because it routes addresses of pods
)

// render translates the security groups and route tables of a VPC to nftables.
//
//	forward  instance ─► egress of its interface ─► internet, or ingress of the other interface
//	input    instance ─► egress of its interface ─► ingress of an endpoint or load balancer; metadata, DNS
//	output   load balancer ─► ingress of an instance
//
// In the management VPC, forward and input also see the packets of the lab itself, which have no security groups: packets between
// the host and the cluster, and packets of customers, which internet.go has checked.
//
// Replies pass. A change of the rules ends connections that are no longer allowed: AWS only does that for connections that it
// tracks, but a test that removes a rule waits only for that.
func render(s state) nftables.Table {
	t := rules{nftables.NewTable(), s}
	t.Sets[senders], t.Sets[byLink] = nftables.NewMap("ifname", nftables.Verdict), nftables.NewMap("ifname", nftables.Verdict)
	t.Sets[local], t.Sets[outwards] = nftables.NewMap("ipv4_addr", nftables.Verdict), nftables.NewSet("ipv4_addr")
	if s.management {
		t.Sets[outwards] = nftables.NewSet("ifname")
	}
	for id := range s.groups {
		t.Sets[links(id)], t.Sets[addresses(id)] = nftables.NewSet("ifname"), nftables.NewSet("ipv4_addr")
	}
	for _, i := range s.interfaces {
		t.networkInterface(i)
	}
	services := fmt.Sprintf("ip daddr { %s, %s, %s }", metadataAddress, dnsAddress, s.resolver())
	t.Chains["egress"] = nftables.Chain{Rules: []string{"iifname vmap @" + senders, "counter drop"}}
	t.Chains["forward"] = nftables.Chain{Hook: "forward", Priority: "0", Rules: []string{
		"ct direction reply accept", "jump egress",
		fmt.Sprintf("oifname %q ip saddr @%s accept", internetLink, outwards),
		"oifname vmap @" + byLink, "counter drop",
	}}
	t.Chains["input"] = nftables.Chain{Hook: "input", Priority: "0", Rules: []string{
		`iifname "lo" accept`, "ct direction reply accept",
		services + " udp dport 53 accept", services + " tcp dport { 53, 80 } accept",
		"jump egress", "ip daddr vmap @" + local, "counter drop",
	}}
	t.Chains["output"] = nftables.Chain{Hook: "output", Priority: "0", Rules: append(t.hopLimits(),
		`oifname "lo" accept`, "ct direction reply accept", "meta l4proto ipv6-icmp accept", "oifname vmap @"+byLink)}
	if s.management {
		t.renderManagement(services)
		return t.Table
	}
	t.Chains["postrouting"] = nftables.Chain{Type: "nat", Hook: "postrouting", Priority: "srcnat", Rules: []string{fmt.Sprintf("oifname %q masquerade", internetLink)}}
	return t.Table
}

// renderManagement renders the differences of the management VPC.
func (t rules) renderManagement(services string) {
	ours := fmt.Sprintf("iifname != \"%s*\" accept", instanceLinks)
	outwards := fmt.Sprintf("iifname @%s accept", outwards)
	apiServer := outwards
	if t.controlPlane.IsValid() {
		apiServer = fmt.Sprintf("ip daddr %s accept", t.controlPlane)
	}
	var four, six []string
	for _, address := range credentialServices {
		if address.Is4() {
			four = append(four, address.String())
		} else {
			six = append(six, address.String())
		}
	}
	t.Chains["forward"] = nftables.Chain{Hook: "forward", Priority: "0", Rules: []string{
		ours, "ct direction reply accept", "jump egress", "oifname vmap @" + byLink, outwards, "counter drop",
	}}
	t.Chains["input"] = nftables.Chain{Hook: "input", Priority: "0", Rules: []string{
		ours, "ct direction reply accept", "meta l4proto ipv6-icmp accept",
		services + " udp dport 53 accept", services + " tcp dport { 53, 80 } accept",
		fmt.Sprintf("ip daddr { %s } tcp dport 80 accept", strings.Join(four, ", ")),
		fmt.Sprintf("ip6 daddr { %s } tcp dport 80 accept", strings.Join(six, ", ")),
		"jump egress", "ip daddr vmap @" + local, apiServer, outwards, "counter drop",
	}}
}

// rules is a table that is being rendered.
type rules struct {
	nftables.Table
	state
}

func links(group string) string     { return "links-" + group }
func addresses(group string) string { return "addresses-" + group }

// networkInterface renders the chains of an interface: ingress accepts or drops, egress returns or drops.
func (t rules) networkInterface(i awsemulator.NetworkInterface) {
	name, address := link(i), i.Address.String()
	t.Chains["in-"+name] = nftables.Chain{Comment: i.ID, Rules: append(t.groupRules(i, "iif", "saddr", "accept", func(g awsemulator.SecurityGroup) []awsemulator.SecurityGroupRule { return g.Ingress }), "counter drop")}
	for _, group := range i.Groups {
		if _, known := t.groups[group]; !known {
			continue
		}
		t.Sets[addresses(group)].Elements[address] = ""
		if i.Instance != "" {
			t.Sets[links(group)].Elements[name] = ""
		}
	}
	if i.Instance == "" {
		t.Sets[local].Elements[address] = "goto in-" + name
		return
	}
	t.Sets[senders].Elements[name], t.Sets[byLink].Elements[name] = "goto out-"+name, "goto in-"+name
	spoofed := "ip saddr != " + address
	for _, pods := range t.pods[i.Instance] {
		if pods.Addr().Is4() {
			spoofed += " ip saddr != " + pods.String()
		}
	}
	t.Chains["out-"+name] = nftables.Chain{Comment: i.ID, Rules: slices.Concat(
		[]string{spoofed + " counter drop"},
		t.groupRules(i, "oif", "daddr", "return", func(g awsemulator.SecurityGroup) []awsemulator.SecurityGroupRule { return g.Egress }),
		[]string{"counter drop"},
	)}
	if way := t.subnets[i.Subnet].Internet; way == awsemulator.NAT || way == awsemulator.Gateway && i.Public {
		if t.state.management {
			address = name
		}
		t.Sets[outwards].Elements[address] = ""
	}
}

// groupRules are the rules of all groups of an interface for one direction. A group of a rule matches the links of its
// members, which also carry the packets of their pods, and their addresses.
func (t rules) groupRules(i awsemulator.NetworkInterface, side, field, verdict string, of func(awsemulator.SecurityGroup) []awsemulator.SecurityGroupRule) []string {
	if i.Kind == awsemulator.BalancerInterface && len(i.Groups) == 0 {
		return []string{verdict} // one without groups accepts everything
	}
	var all []string
	for _, id := range i.Groups {
		for _, r := range of(t.groups[id]) {
			ports := match(r)
			switch {
			case r.Group != "":
				if _, known := t.groups[r.Group]; known {
					all = append(all, words(side+"name @"+links(r.Group), ports, verdict), words("ip "+field+" @"+addresses(r.Group), ports, verdict))
				}
			case r.CIDR == "0.0.0.0/0":
				all = append(all, words(ports, verdict))
			case r.CIDR != "":
				all = append(all, words("ip "+field+" "+r.CIDR, ports, verdict))
			}
		}
	}
	return all
}

func words(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " ")
}

// match is the match of the protocol and ports of a rule.
func match(r awsemulator.SecurityGroupRule) string {
	switch p := strings.ToLower(r.Protocol); {
	case p == "-1":
		return ""
	case p != "tcp" && p != "udp":
		return "meta l4proto " + p
	case r.From < 0 || r.From == 0 && r.To == 65535:
		return "meta l4proto " + p
	case r.From == r.To:
		return p + " dport " + strconv.Itoa(r.From)
	default:
		return fmt.Sprintf("%s dport %d-%d", p, r.From, r.To)
	}
}

// hopLimits make the answers of the metadata service die on the way to containers:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-options.html
func (t rules) hopLimits() []string {
	byLimit := map[int]nftables.Set{}
	for _, i := range t.interfaces {
		if i.Instance == "" {
			continue
		}
		if _, there := byLimit[i.HopLimit]; !there {
			byLimit[i.HopLimit] = nftables.NewSet("ifname")
		}
		byLimit[i.HopLimit].Elements[link(i)] = ""
	}
	var all []string
	for limit, members := range byLimit {
		name := fmt.Sprintf("hops-%d", limit)
		t.Sets[name] = members
		all = append(all,
			fmt.Sprintf("oifname @%s ip saddr %s ip ttl set %d", name, metadataAddress, limit),
			fmt.Sprintf("oifname @%s ip6 saddr %s ip6 hoplimit set %d", name, metadataAddress6, limit),
		)
	}
	slices.Sort(all)
	return all
}
