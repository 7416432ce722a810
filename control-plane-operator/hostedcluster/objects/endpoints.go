package objects

import (
	"context"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/publishing"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// apiEndpoints routes the Service "kubernetes" to the API server's address for nodes. The API server itself is
// reachable only at its address in the management cluster.
var apiEndpoints = Set{
	Name:      "api-endpoints",
	Namespace: metav1.NamespaceDefault,
	Kinds:     []client.ObjectList{&corev1.EndpointsList{}, &discoveryv1.EndpointSliceList{}},
	Desired:   desiredAPIEndpoints,
}

// apiService is the name of the Service and of its port.
const (
	apiService = "kubernetes"
	apiPort    = "https"
	// skipMirror prevents that an EndpointSlice is created from the Endpoints.
	skipMirror = "endpointslice.kubernetes.io/skip-mirror"
)

func desiredAPIEndpoints(_ context.Context, b *Builder) ([]client.Object, error) {
	address, port := b.HCP.Spec.Networking.AdvertiseAddress(), b.HCP.Spec.Networking.AdvertisePort()
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
	endpoints.Labels = map[string]string{skipMirror: "true"}
	return []client.Object{endpoints, slice}, nil
}

// clusterInfo publishes the address of the API server and its authorities.
var clusterInfo = Set{
	Name:      "cluster-info",
	Namespace: metav1.NamespacePublic,
	Kinds:     []client.ObjectList{&corev1.ConfigMapList{}},
	Desired:   desiredClusterInfo,
}

func desiredClusterInfo(_ context.Context, b *Builder) ([]client.Object, error) {
	at, err := publishing.AwaitAPI(b.HCP)
	if err != nil {
		return nil, err
	}
	// The key is empty because tools that join nodes expect it.
	text, err := clientcmd.Write(clientcmdapi.Config{Clusters: map[string]*clientcmdapi.Cluster{"": {
		Server: publishing.URL(at), CertificateAuthorityData: b.Cluster.Config.CAData,
	}}})
	if err != nil {
		return nil, err
	}
	return []client.Object{&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespacePublic, Name: "cluster-info"},
		Data:       map[string]string{names.AdminKubeconfigFile: string(text)},
	}}, nil
}
