package hostedcluster

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

const (
	machineNetwork = "networking.machineNetwork"
	serviceNetwork = "networking.serviceNetwork"
)

// network is one address range of the cluster.
type network struct {
	field  string
	prefix netip.Prefix
}

// The ranges that OVN-Kubernetes uses for itself if the user does not say.
const (
	defaultJoinSubnet    = "100.64.0.0/16"
	defaultTransitSubnet = "100.88.0.0/16"
)

// checkNetworks wants address ranges that can be read and share nothing.
func checkNetworks(hc *hyperv1.HostedCluster) []problem {
	nets, problems := networksOf(hc.Spec.Networking)
	problems = append(problems, checkFamilies(nets)...)
	problems = append(problems, checkRoom(nets)...)
	internal, more := internalNetworks(hc)
	nets, problems = append(nets, internal...), append(problems, more...)
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
			problems = append(problems, problemf(hyperv1.InvalidConfigurationReason, "%s has %q, which is not an address range: write it like 10.0.0.0/16", field, cidr))
			return
		}
		nets = append(nets, network{field: field, prefix: prefix.Masked()})
	}
	for _, e := range n.MachineNetwork {
		add(machineNetwork, e.CIDR)
	}
	for _, e := range n.ClusterNetwork {
		add("networking.clusterNetwork", e.CIDR)
	}
	for _, e := range n.ServiceNetwork {
		add(serviceNetwork, e.CIDR)
	}
	return nets, problems
}

// checkFamilies wants the first range of every network in the same IP family:
// it is the one that an API server and its nodes speak first.
func checkFamilies(nets []network) []problem {
	first := map[string]network{}
	var order []string
	for _, n := range nets {
		if _, ok := first[n.field]; !ok {
			first[n.field] = n
			order = append(order, n.field)
		}
	}
	var problems []problem
	for _, field := range order[min(1, len(order)):] {
		a, b := first[order[0]], first[field]
		if a.prefix.Addr().Is4() != b.prefix.Addr().Is4() {
			problems = append(problems, problemf(hyperv1.InvalidConfigurationReason,
				"%s begins with %s and %s with %s: list the same IP family first in all networks", a.field, a.prefix, b.field, b.prefix))
		}
	}
	return problems
}

// checkRoom wants networks of services in which there is room for those that
// every cluster has.
func checkRoom(nets []network) []problem {
	var problems []problem
	for _, n := range nets {
		if n.field != serviceNetwork {
			continue
		}
		if _, err := pki.FirstAddress(n.prefix.String()); err != nil {
			problems = append(problems, problemf(hyperv1.InvalidConfigurationReason, "%s: %v", n.field, err))
		}
	}
	return problems
}

// internalNetworks are the ranges inside the network plugin.
func internalNetworks(hc *hyperv1.HostedCluster) ([]network, []problem) {
	if hc.Spec.Networking.NetworkType != hyperv1.OVNKubernetes {
		return nil, nil
	}
	var chosen hyperv1.OVNIPv4Config
	if op := hc.Spec.OperatorConfiguration; op != nil && op.ClusterNetworkOperator != nil && op.ClusterNetworkOperator.OVNKubernetesConfig != nil && op.ClusterNetworkOperator.OVNKubernetesConfig.IPv4 != nil {
		chosen = *op.ClusterNetworkOperator.OVNKubernetesConfig.IPv4
	}
	var nets []network
	var problems []problem
	for _, n := range []struct {
		field           string
		chosen, defined hyperv1.OVNSubnet
	}{
		{"internalJoinSubnet", chosen.InternalJoinSubnet, defaultJoinSubnet},
		{"internalTransitSwitchSubnet", chosen.InternalTransitSwitchSubnet, defaultTransitSubnet},
	} {
		const path = "operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig.ipv4."
		prefix, err := netip.ParsePrefix(string(cmp.Or(n.chosen, n.defined)))
		if err != nil || !prefix.Addr().Is4() {
			problems = append(problems, problemf(hyperv1.InvalidConfigurationReason, "%s%s is %q, which is not an IPv4 address range: write it like 100.64.0.0/16", path, n.field, n.chosen))
			continue
		}
		nets = append(nets, network{field: path + n.field, prefix: prefix.Masked()})
	}
	return nets, problems
}

// checkNodePorts wants addresses of nodes that are not inside the cluster.
func checkNodePorts(hc *hyperv1.HostedCluster) []problem {
	nets, _ := networksOf(hc.Spec.Networking)
	var problems []problem
	for _, svc := range hc.Spec.Services {
		port := svc.ServicePublishingStrategy.NodePort
		if port == nil {
			continue
		}
		address, err := netip.ParseAddr(port.Address)
		if err != nil {
			continue // a host name
		}
		for _, n := range nets {
			if n.field != machineNetwork && n.prefix.Contains(address) {
				problems = append(problems, problemf(hyperv1.NetworksOverlapReason,
					"spec.services publishes %s at node address %s, which is inside %s %s: name an address at which nodes of the management cluster are reached", svc.Service, address, n.field, n.prefix))
			}
		}
	}
	return problems
}

// checkAdvertiseAddress wants the address under which nodes find the API
// server on themselves to mean nothing else.
func checkAdvertiseAddress(hc *hyperv1.HostedCluster, nets []network) []problem {
	text := hc.Spec.Networking.AdvertiseAddress()
	address, err := netip.ParseAddr(text)
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

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
