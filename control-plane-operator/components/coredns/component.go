// Package coredns runs CoreDNS in a hosted cluster. It resolves the names of Services and pods.
package coredns

import (
	"embed"
	"net"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	netutils "k8s.io/utils/net"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

//go:embed assets
var assets embed.FS

// name is the name of the component and of its image.
const name = "coredns"

// Component is CoreDNS.
var Component = component.Component[*target.HostedCluster]{
	Name:   name,
	Assets: assets,
	Wanted: func(t *target.HostedCluster) bool { return t.Has(name) },
	Adapters: []component.Adapter[*target.HostedCluster]{
		component.On("deployment.yaml", adaptDeployment),
		component.On("service.yaml", adaptService),
		component.Only("pdb.yaml", (*target.HostedCluster).HighlyAvailable), // a single pod could never be evicted
	},
}

func adaptDeployment(t *target.HostedCluster, d *appsv1.Deployment) error {
	d.Spec.Replicas = t.Replicas()
	return t.ConnectToAPI(&d.Spec.Template)
}

func adaptService(t *target.HostedCluster, service *corev1.Service) error {
	addresses, err := dnsAddresses(t.HCP.Spec.Networking)
	if err != nil {
		return err
	}
	service.Spec.ClusterIP, service.Spec.ClusterIPs = addresses[0], addresses
	if len(addresses) > 1 {
		service.Spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyRequireDualStack)
	}
	return nil
}

// dnsIndex is the index of the DNS address in each service network by convention. Kubelets pass the address to pods.
const dnsIndex = 10

func dnsAddresses(n hyperv1.ClusterNetworking) ([]string, error) {
	var addresses []string
	for _, cidr := range serviceNetworks(n) {
		_, subnet, err := net.ParseCIDR(cidr)
		if err != nil {
			return nil, reconcile.Block(hyperv1.InvalidNetworkReason, "spec.networking.serviceNetwork: %q is not a CIDR", cidr)
		}
		ip, err := netutils.GetIndexedIP(subnet, dnsIndex)
		if err != nil {
			return nil, reconcile.Block(hyperv1.InvalidNetworkReason, "spec.networking.serviceNetwork: %s has no room for the DNS address, which is the tenth", cidr)
		}
		addresses = append(addresses, ip.String())
	}
	return addresses, nil
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
