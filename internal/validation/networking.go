package validation

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

const (
	machineNetwork = "networking.machineNetwork"
	clusterNetwork = "networking.clusterNetwork"
	serviceNetwork = "networking.serviceNetwork"
)

// network is one address range of the cluster. name is its field without spec.
type network struct {
	name   string
	at     *field.Path
	prefix netip.Prefix
}

// networks rejects address ranges that cannot be parsed or that overlap.
func networks(s *hyperv1.HostedClusterSpec) field.ErrorList {
	nets, errs := parseNetworks(s.Networking)
	errs = append(errs, sameFamily(nets)...)
	errs = append(errs, serviceAddresses(nets)...)
	for i, a := range nets {
		for _, b := range nets[i+1:] {
			if a.prefix.Overlaps(b.prefix) {
				errs = append(errs, overlap.invalid(a.at, a.prefix.String(),
					"%s %s and %s %s share addresses: choose another range for one of them", a.name, a.prefix, b.name, b.prefix))
			}
		}
	}
	return append(errs, advertiseAddress(s.Networking.AdvertiseAddress(), nets)...)
}

func parseNetworks(n hyperv1.ClusterNetworking) (nets []network, errs field.ErrorList) {
	path := spec.Child("networking")
	add := func(name string, at *field.Path, cidr string) {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			errs = append(errs, configuration.invalid(at, cidr, "%s has %q, which is not an address range: write it like 10.0.0.0/16", name, cidr))
			return
		}
		nets = append(nets, network{name: name, at: at, prefix: prefix.Masked()})
	}
	for i, e := range n.MachineNetwork {
		add(machineNetwork, path.Child("machineNetwork").Index(i).Child("cidr"), e.CIDR)
	}
	for i, e := range n.ClusterNetwork {
		add(clusterNetwork, path.Child("clusterNetwork").Index(i).Child("cidr"), e.CIDR)
	}
	for i, e := range n.ServiceNetwork {
		add(serviceNetwork, path.Child("serviceNetwork").Index(i).Child("cidr"), e.CIDR)
	}
	return nets, errs
}

// sameFamily requires the same IP family in the first range of every network: it
// is the primary family of the API server and of the nodes.
func sameFamily(nets []network) field.ErrorList {
	first := map[string]network{}
	var order []string
	for _, n := range nets {
		if _, ok := first[n.name]; !ok {
			first[n.name] = n
			order = append(order, n.name)
		}
	}
	var errs field.ErrorList
	for _, name := range order[min(1, len(order)):] {
		a, b := first[order[0]], first[name]
		if a.prefix.Addr().Is4() != b.prefix.Addr().Is4() {
			errs = append(errs, configuration.invalid(b.at, b.prefix.String(),
				"%s begins with %s and %s with %s: list the same IP family first in all networks", a.name, a.prefix, b.name, b.prefix))
		}
	}
	return errs
}

// serviceAddresses requires room for the Services that every cluster has.
func serviceAddresses(nets []network) field.ErrorList {
	var errs field.ErrorList
	for _, n := range nets {
		if n.name != serviceNetwork {
			continue
		}
		if _, err := pki.FirstAddress(n.prefix.String()); err != nil {
			errs = append(errs, configuration.invalid(n.at, n.prefix.String(), "%s: %v", n.name, err))
		}
	}
	return errs
}

// advertiseAddress rejects an address inside a network: nodes use it to reach the
// API server through a proxy of their own.
func advertiseAddress(text string, nets []network) field.ErrorList {
	at := spec.Child("networking", "apiServer", "advertiseAddress")
	address, err := netip.ParseAddr(text)
	if err != nil {
		return field.ErrorList{configuration.invalid(at, text, "networking.apiServer.advertiseAddress is %q, which is not an IP address", text)}
	}
	var errs field.ErrorList
	for _, n := range nets {
		if n.prefix.Contains(address) {
			errs = append(errs, overlap.invalid(at, text,
				"%s %s contains %s, at which nodes find the API server: choose another range, or another networking.apiServer.advertiseAddress", n.name, n.prefix, address))
		}
	}
	return errs
}
