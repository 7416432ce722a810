package hostedclusterresources

import (
	"context"
	"net"
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// apiEndpoints routes the Service "kubernetes" to the API server's address for nodes. The API server itself only has an
// address in the management cluster.
var apiEndpoints = part{
	name:      "api-endpoints",
	namespace: metav1.NamespaceDefault,
	kinds:     []client.ObjectList{&corev1.EndpointsList{}, &discoveryv1.EndpointSliceList{}},
	desired:   desiredAPIEndpoints,
}

// apiService is the name of the Service and of its port.
const (
	apiService = "kubernetes"
	apiPort    = "https"
	// skipMirror prevents that an EndpointSlice is created from the Endpoints.
	skipMirror = "endpointslice.kubernetes.io/skip-mirror"
)

func desiredAPIEndpoints(_ *Reconciler, _ context.Context, s *scope) ([]client.Object, error) {
	address, port := s.hcp.Spec.Networking.AdvertiseAddress(), s.hcp.Spec.Networking.AdvertisePort()
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return nil, reconcile.Block(hyperv1.InvalidNetworkReason, "spec.networking.apiServer.advertiseAddress %q is not an IP address", address)
	}
	family := discoveryv1.AddressTypeIPv4
	if ip.Is6() {
		family = discoveryv1.AddressTypeIPv6
	}
	m := metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: apiService}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  m,
		AddressType: family,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}}},
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To(apiPort), Port: &port, Protocol: ptr.To(corev1.ProtocolTCP)}},
	}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: apiService}
	endpoints := &corev1.Endpoints{ //nolint:staticcheck // old clients read them
		ObjectMeta: m,
		Subsets: []corev1.EndpointSubset{{ //nolint:staticcheck // see above
			Addresses: []corev1.EndpointAddress{{IP: address}},
			Ports:     []corev1.EndpointPort{{Name: apiPort, Port: port, Protocol: corev1.ProtocolTCP}},
		}},
	}
	endpoints.Labels = map[string]string{skipMirror: yes}
	return []client.Object{endpoints, slice}, nil
}

// apiHost returns the address of the API server for nodes, as their kubelets use it. The host is empty as long as it is
// unknown.
func apiHost(hcp *hyperv1.HostedControlPlane) hyperv1.APIEndpoint {
	at := hcp.Status.ControlPlaneEndpoint
	if at.Host != "" && hcp.Spec.Platform.PrivateLink() {
		at.Host = names.LocalAPI(hcp.Name)
	}
	return at
}

// apiURL returns the URL of this address.
func apiURL(at hyperv1.APIEndpoint) string {
	return "https://" + net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port)))
}

// awaitAPIHost waits for this address.
func awaitAPIHost(hcp *hyperv1.HostedControlPlane) (hyperv1.APIEndpoint, error) {
	at := apiHost(hcp)
	if at.Host == "" {
		return at, reconcile.Wait(0, hyperv1.WaitingForEndpointReason, "waiting for the address of the API server for nodes")
	}
	return at, nil
}

// clusterInfo publishes the address of the API server and its authorities.
var clusterInfo = part{
	name:      "cluster-info",
	namespace: metav1.NamespacePublic,
	kinds:     []client.ObjectList{&corev1.ConfigMapList{}},
	desired:   desiredClusterInfo,
}

func desiredClusterInfo(_ *Reconciler, _ context.Context, s *scope) ([]client.Object, error) {
	at, err := awaitAPIHost(s.hcp)
	if err != nil {
		return nil, err
	}
	// The key is empty because tools that join nodes expect it.
	text, err := clientcmd.Write(clientcmdapi.Config{Clusters: map[string]*clientcmdapi.Cluster{"": {
		Server: apiURL(at), CertificateAuthorityData: s.hosted.config.CAData,
	}}})
	if err != nil {
		return nil, err
	}
	return []client.Object{&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespacePublic, Name: "cluster-info"},
		Data:       map[string]string{names.AdminKubeconfigFile: string(text)},
	}}, nil
}
