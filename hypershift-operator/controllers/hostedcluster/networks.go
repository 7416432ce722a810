package hostedcluster

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// network is one address range of the cluster.
type network struct {
	field  string
	prefix netip.Prefix
}

// Where the API server is found on every node if the user does not say.
const (
	defaultAdvertiseIPv4 = "172.20.0.1"
	defaultAdvertiseIPv6 = "fd00::1"
)

// checkNetworks wants address ranges that can be read and share nothing.
func checkNetworks(hc *hyperv1.HostedCluster) []problem {
	nets, problems := networksOf(hc.Spec.Networking)
	for i, a := range nets {
		for _, b := range nets[i+1:] {
			if a.prefix.Overlaps(b.prefix) {
				problems = append(problems, problemf(hyperv1.NetworksOverlapReason,
					"%s %s and %s %s share addresses: choose another range for one of them", a.field, a.prefix, b.field, b.prefix))
			}
		}
	}
	return append(problems, checkAdvertiseAddress(hc, nets)...)
}

func networksOf(n hyperv1.ClusterNetworking) (nets []network, problems []problem) {
	add := func(field, cidr string) {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			problems = append(problems, problemf(hyperv1.InvalidConfigurationReason, "networking.%s has %q, which is not an address range: write it like 10.0.0.0/16", field, cidr))
			return
		}
		nets = append(nets, network{field: "networking." + field, prefix: prefix.Masked()})
	}
	for _, e := range n.MachineNetwork {
		add("machineNetwork", e.CIDR)
	}
	for _, e := range n.ClusterNetwork {
		add("clusterNetwork", e.CIDR)
	}
	for _, e := range n.ServiceNetwork {
		add("serviceNetwork", e.CIDR)
	}
	return nets, problems
}

// checkAdvertiseAddress wants the address under which nodes find the API
// server on themselves to mean nothing else.
func checkAdvertiseAddress(hc *hyperv1.HostedCluster, nets []network) []problem {
	text := ""
	if api := hc.Spec.Networking.APIServer; api != nil && api.AdvertiseAddress != nil {
		text = *api.AdvertiseAddress
	}
	address, err := netip.ParseAddr(cmp.Or(text, defaultAdvertise(nets)))
	if err != nil {
		return []problem{problemf(hyperv1.InvalidConfigurationReason, "networking.apiServer.advertiseAddress is %q, which is not an IP address", text)}
	}
	var problems []problem
	for _, n := range nets {
		if n.prefix.Contains(address) {
			problems = append(problems, problemf(hyperv1.NetworksOverlapReason,
				"%s %s contains %s, at which nodes find the API server: choose another range, or another networking.apiServer.advertiseAddress", n.field, n.prefix, address))
		}
	}
	return problems
}

func defaultAdvertise(nets []network) string {
	for _, n := range nets {
		if n.field == "networking.serviceNetwork" && n.prefix.Addr().Is6() {
			return defaultAdvertiseIPv6
		}
	}
	return defaultAdvertiseIPv4
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
