package target

import (
	"net"

	corev1 "k8s.io/api/core/v1"
	netutils "k8s.io/utils/net"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// A FixedAddress is the address of a Service in each service network that is known before the Service exists. Kubernetes assigns the lowest
// addresses of a network last: https://kubernetes.io/docs/concepts/services-networking/cluster-ip-allocation/.
type FixedAddress struct {
	index int
	what  string
}

var (
	// DNSAddress is the address of the DNS by convention. Kubelets pass it to pods.
	DNSAddress = FixedAddress{10, "the DNS address, which is the tenth"}
	// ImageRegistryAddress is the address of the image registry, which nodes know.
	ImageRegistryAddress = FixedAddress{11, "the address of the image registry, which is the eleventh"}
)

// In returns the address in each service network.
func (a FixedAddress) In(n hyperv1.ClusterNetworking) ([]string, error) {
	var addresses []string
	for _, cidr := range serviceNetworks(n) {
		_, subnet, err := net.ParseCIDR(cidr)
		if err != nil {
			return nil, reconcile.Block(hyperv1.InvalidNetworkReason, "spec.networking.serviceNetwork: %q is not a CIDR", cidr)
		}
		ip, err := netutils.GetIndexedIP(subnet, a.index)
		if err != nil {
			return nil, reconcile.Block(hyperv1.InvalidNetworkReason, "spec.networking.serviceNetwork: %s has no room for %s", cidr, a.what)
		}
		addresses = append(addresses, ip.String())
	}
	return addresses, nil
}

// Set gives the address to a Service.
func (a FixedAddress) Set(n hyperv1.ClusterNetworking, service *corev1.Service) error {
	addresses, err := a.In(n)
	if err != nil {
		return err
	}
	service.Spec.ClusterIP, service.Spec.ClusterIPs = addresses[0], addresses
	if len(addresses) > 1 {
		service.Spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyRequireDualStack)
	}
	return nil
}

// defaultServiceNetwork is the default in the API. Old objects may lack it.
const defaultServiceNetwork = "172.31.0.0/16"

func serviceNetworks(n hyperv1.ClusterNetworking) []string {
	if len(n.ServiceNetwork) == 0 {
		return []string{defaultServiceNetwork}
	}
	var out []string
	for _, e := range n.ServiceNetwork {
		out = append(out, e.CIDR)
	}
	return out
}
