package certificates

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/routes"
)

// A leaf is one line of the table.
type leaf struct {
	secret, signer string
	pki.Request
}

// Services in the management cluster that are in certificates.
const (
	etcdClientService    = "etcd-client"
	etcdDiscoveryService = "etcd-discovery"
)

// leaves returns the certificates of a control plane.
func leaves(hcp *hyperv1.HostedControlPlane, facts Facts) []leaf {
	ns := hcp.Namespace
	members := inService("*."+etcdDiscoveryService, ns)
	all := []leaf{
		{names.APIServerCertificate, names.RootCA, pki.Request{User: "kubernetes", Usage: pki.Server, Hosts: publicHosts(hcp, facts)}},
		{names.APIServerPrivateCertificate, names.RootCA, pki.Request{User: "kubernetes-private", Usage: pki.Server, Hosts: privateHosts(ns)}},
		{names.EtcdServerCertificate, names.EtcdSigner, pki.Request{User: "etcd-server", Usage: pki.Server | pki.Client, Hosts: withLoopback(members, inService(etcdClientService, ns))}},
		{names.EtcdPeerCertificate, names.EtcdSigner, pki.Request{User: "etcd-peer", Usage: pki.Server | pki.Client, Hosts: withLoopback(members)}},
		{names.EtcdClientCertificate, names.EtcdSigner, pki.Request{User: "etcd-client", Usage: pki.Client}},
		{names.KonnectivityCertificate, names.KonnectivitySigner, pki.Request{User: names.KonnectivityServer, Usage: pki.Server, Hosts: withLoopback(inService(names.KonnectivityServer, ns), tunnelHosts(hcp, facts))}},
		{names.KonnectivityAgentCertificate, names.KonnectivitySigner, pki.Request{User: "konnectivity-agent", Usage: pki.Client}},
		{names.AggregatorClientCertificate, names.AggregatorClientSigner, pki.Request{User: names.AggregatorUser, Usage: pki.Client}},
		{names.KubeletClientCertificate, names.KubeletClientSigner, pki.Request{User: names.APIServerUser, Usage: pki.Client}},
		{names.ControllerManagerCertificate, names.RootCA, pki.Request{User: names.KubeControllerManager, Usage: pki.Server, Hosts: withLoopback(inService(names.KubeControllerManager, ns))}},
		{names.CustomerBreakGlassCertificate, names.CustomerBreakGlassSigner, pki.Request{User: names.BreakGlassUserPrefix + "system-admin", Groups: []string{names.AdminGroup}, Usage: pki.Client}},
	}
	if facts.Scheduler {
		all = append(all, leaf{names.SchedulerCertificate, names.RootCA, pki.Request{User: names.KubeScheduler, Usage: pki.Server, Hosts: withLoopback(inService(names.KubeScheduler, ns))}})
	}
	if facts.MetricsServer {
		all = append(all, leaf{names.MetricsServerCertificate, names.RootCA, pki.Request{User: names.MetricsServer, Usage: pki.Server, Hosts: inService(names.MetricsServer, metav1.NamespaceSystem)}})
	}
	if facts.Ingress {
		all = append(all, leaf{names.IngressCertificate, names.RootCA, pki.Request{User: "ingress", Usage: pki.Server, Hosts: []string{"*." + cmp.Or(routes.Applications(hcp.Name, hcp.Spec.DNS, hcp.Spec.Configuration), noDomain)}}})
	}
	if facts.ImageRegistry {
		// An invalid network is an error of the Service. Users forward a port of their own host to the registry.
		addresses, _ := target.ImageRegistryAddress.In(hcp.Spec.Networking)
		hosts := withLoopback(inService(names.ImageRegistry, metav1.NamespaceSystem), addresses)
		all = append(all, leaf{names.ImageRegistryCertificate, names.RootCA, pki.Request{User: names.ImageRegistry, Usage: pki.Server, Hosts: hosts}})
	}
	if facts.PodIdentityWebhook {
		all = append(all, leaf{names.PodIdentityWebhookCertificate, names.RootCA, pki.Request{User: names.PodIdentityWebhook, Usage: pki.Server, Hosts: inService(names.PodIdentityWebhook, ns)}})
	}
	return all
}

// noDomain is in the certificate of the ingress controller of a cluster without a domain: a certificate has at least one name.
const noDomain = "ingress.invalid"

// publicHosts returns the names of the API server for users, nodes and pods of the hosted cluster. The names for users
// appear one after the other.
func publicHosts(hcp *hyperv1.HostedControlPlane, facts Facts) []string {
	hosts := []string{
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		names.LocalAPI(hcp.Name), facts.API.Name, hcp.Spec.KubeAPIServerDNSName, hcp.Spec.Networking.AdvertiseAddress(),
	}
	for _, network := range hcp.Spec.Networking.ServiceNetwork {
		if address, err := pki.FirstAddress(network.CIDR); err == nil { // CheckServiceNetwork reports the error
			hosts = append(hosts, address.String())
		}
	}
	return hosts
}

// tunnelHosts returns the names of the tunnel server for agents. The server reads its certificate only once. So the
// certificate contains the names of other access modes and of a Route that is not observed yet from the start.
func tunnelHosts(hcp *hyperv1.HostedControlPlane, facts Facts) []string {
	return []string{
		facts.Konnectivity.Name, names.LocalApp(hcp.Name, names.KonnectivityServer), hyperv1.PublishingOf(hcp.Spec.Services, hyperv1.Konnectivity).Chosen(),
	}
}

// privateHosts returns the names of the API server for the rest of the control plane.
func privateHosts(namespace string) []string {
	return withLoopback(inService(names.KubeAPIServer, namespace))
}

// inService returns the names of a Service within the management cluster.
func inService(service, namespace string) []string {
	return []string{service, service + "." + namespace, service + "." + namespace + ".svc", service + "." + namespace + ".svc.cluster.local"}
}

// withLoopback adds the names of the pod itself.
func withLoopback(hosts ...[]string) []string {
	all := []string{"localhost", "127.0.0.1", "::1"}
	for _, h := range hosts {
		all = append(all, h...)
	}
	return all
}
