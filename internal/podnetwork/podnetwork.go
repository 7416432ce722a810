// Package podnetwork defines the common facts of a release's pod network: the ranges of pod addresses that are divided
// among the nodes.
package podnetwork

import (
	"cmp"
	"net/netip"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Image is the image of the pod network in a release.
const Image = "flannel"

// Unmanaged reports whether the user has taken over the pod network.
func Unmanaged(hcp *hyperv1.HostedControlPlane) bool {
	return hcp.Annotations[hyperv1.PodNetworkAnnotation] == hyperv1.PodNetworkUnmanaged
}

// Ranges are the ranges of pod addresses of a cluster, one per IP family. A family that the cluster does not have is the
// zero value.
type Ranges struct{ IPv4, IPv6 netip.Prefix }

// Prefix lengths of a node's range, unless the user has chosen one.
const (
	defaultHostPrefixIPv4 = 24
	defaultHostPrefixIPv6 = 64
)

// maxIPv6Bits limits the nodes of an IPv6 range, because kube-controller-manager keeps a bit for each.
const maxIPv6Bits = 16

// RangesOf returns the ranges of pod addresses. kube-controller-manager and flannel do not start with ranges that cannot be
// divided among nodes.
func RangesOf(n hyperv1.ClusterNetworking) (Ranges, error) {
	var ranges Ranges
	if len(n.ClusterNetwork) == 0 {
		return ranges, reconcile.Block(hyperv1.InvalidNetworkReason, "spec.networking.clusterNetwork has no range for the pod network")
	}
	for _, e := range n.ClusterNetwork {
		prefix, err := netip.ParsePrefix(e.CIDR)
		if err != nil {
			return ranges, reconcile.Block(hyperv1.InvalidNetworkReason, "spec.networking.clusterNetwork: %q is not a CIDR", e.CIDR)
		}
		prefix = prefix.Masked()
		family, node, most := &ranges.IPv4, cmp.Or(int(e.HostPrefix), defaultHostPrefixIPv4), 32
		if prefix.Addr().Is6() {
			family, node, most = &ranges.IPv6, cmp.Or(int(e.HostPrefix), defaultHostPrefixIPv6), prefix.Bits()+maxIPv6Bits
		}
		switch {
		case family.IsValid():
			return ranges, reconcile.Block(hyperv1.InvalidNetworkReason, "spec.networking.clusterNetwork: %s and %s have the same IP family; the pod network needs one range per family", family, prefix)
		case node < prefix.Bits():
			return ranges, reconcile.Block(hyperv1.InvalidNetworkReason, "spec.networking.clusterNetwork: %s has no room for a node with a range of /%d", prefix, node)
		case node > most:
			return ranges, reconcile.Block(hyperv1.InvalidNetworkReason, "spec.networking.clusterNetwork: %s cannot be divided into ranges of /%d; the longest prefix is /%d", prefix, node, most)
		}
		*family = prefix
	}
	return ranges, nil
}
