package objects

import (
	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/coredns"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/ebscsinode"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/flannel"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/imageregistry"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/imageregistrynode"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/konnectivityagent"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/kubeproxy"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/metricsserver"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/traefik"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/connection"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/component/componenttest"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/podnetwork"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/test/fakerelease"
)

const (
	namespace = "clusters-demo"
	image     = "registry/release:1.35.4"
)

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{hyperv1.AddToScheme, routev1.Install, corev1.AddToScheme} {
		utilruntime.Must(add(s))
	}
	return s
}()

func controlPlane() *hyperv1.HostedControlPlane {
	return &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo", Generation: 1},
		Spec: hyperv1.HostedControlPlaneSpec{
			ReleaseImage: image, InfraID: "demo-x", InfrastructureAvailabilityPolicy: hyperv1.HighlyAvailable,
			Services: []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.Konnectivity, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{
				Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: "konnectivity.demo.example.com"},
			}}},
			Platform: hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{EndpointAccess: hyperv1.Public}},
			Networking: hyperv1.ClusterNetworking{
				ServiceNetwork: []hyperv1.ServiceNetworkEntry{{CIDR: "172.31.0.0/16"}}, ClusterNetwork: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}},
			},
		},
	}
}

func secret(name string, kind corev1.SecretType, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: kind, Data: data}
}

// desired returns the objects of a component in a hosted cluster with fixed certificates, sorted by kind.
func desired(t *testing.T, c component.Component[*target.HostedCluster], change func(*hyperv1.HostedControlPlane)) []client.Object {
	t.Helper()
	hcp := controlPlane()
	hcp.Status.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: "api.demo.example.com", Port: 6443}
	if change != nil {
		change(hcp)
	}
	certificate := map[string][]byte{corev1.TLSCertKey: []byte("certificate"), corev1.TLSPrivateKeyKey: []byte("key"), pki.TrustKey: []byte("authority")}
	authorities := []byte("authorities")
	b := &Builder{
		Options: Options{
			Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(
				&routev1.Route{
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.KonnectivityServer},
					Spec:       routev1.RouteSpec{Host: "konnectivity.demo.example.com", To: routev1.RouteTargetReference{Kind: "Service", Name: names.KonnectivityServer}},
				},
				secret(names.KonnectivityAgentCertificate, corev1.SecretTypeTLS, certificate),
				secret(names.MetricsServerCertificate, corev1.SecretTypeTLS, certificate),
				secret(names.IngressCertificate, corev1.SecretTypeTLS, certificate),
				secret(names.ImageRegistryCertificate, corev1.SecretTypeTLS, certificate),
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.KubeletServingCA}, Data: map[string]string{pki.TrustKey: "authorities of kubelets"}},
			).Build(),
			Clock: clocktesting.NewFakeClock(time.Now()), OperatorImage: "registry/control-plane-operator:1",
			Releases: fakerelease.New(&release.Release{Image: image, Version: "1.35.4", Components: map[string]string{
				"coredns": "registry/coredns:1", "kube-proxy": "registry/kube-proxy:1.35.4", names.KonnectivityAgentImage: "registry/konnectivity-agent:1",
				names.MetricsServer:     "registry/metrics-server:1",
				names.Traefik:           "registry/traefik:1",
				names.ImageRegistry:     "registry/image-registry:1",
				names.EBSCSIDriverImage: "registry/aws-ebs-csi-driver:1", names.CSINodeRegistrarImage: "registry/csi-node-driver-registrar:1", names.CSILivenessProbeImage: "registry/csi-livenessprobe:1",
				podnetwork.Image: "registry/flannel:1",
			}}),
		},
		HCP: hcp,
		Cluster: &connection.Cluster{
			Config: &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: authorities}},
			Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "kube-root-ca.crt"}, Data: map[string]string{pki.TrustKey: string(authorities)},
			}).Build(),
		},
	}
	objs, err := workload(c).Desired(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(objs, func(a, b client.Object) int { return strings.Compare(fmt.Sprintf("%T", a), fmt.Sprintf("%T", b)) })
	return objs
}

// ingress is the capability of clusters with an ingress controller.
var ingress = &hyperv1.Capabilities{Enabled: []hyperv1.OptionalCapability{hyperv1.IngressCapability}}

func published(as *operatorv1.EndpointPublishingStrategy) *hyperv1.OperatorConfiguration {
	return &hyperv1.OperatorConfiguration{IngressOperator: &hyperv1.IngressOperatorSpec{EndpointPublishingStrategy: as}}
}

// A cluster has an ingress controller only if its user wants one.
func TestIngressIsACapability(t *testing.T) {
	if objs := desired(t, traefik.Component, nil); len(objs) > 0 {
		t.Errorf("%d objects are desired", len(objs))
	}
}

// withImageRegistry gives a cluster an image registry with its bucket.
func withImageRegistry(hcp *hyperv1.HostedControlPlane) {
	hcp.Spec.Capabilities = &hyperv1.Capabilities{Enabled: []hyperv1.OptionalCapability{hyperv1.ImageRegistryCapability}}
	hcp.Status.ImageRegistry = &hyperv1.ImageRegistryRecord{
		Bucket: "demo-x-image-registry-0a1b2c3d", Region: "us-east-1", RoleARN: "arn:aws:iam::123456789012:role/image-registry", Ready: ptr.To(true),
	}
}

// A cluster has an image registry only if its user wants one, and there is a bucket for it.
func TestImageRegistryIsACapability(t *testing.T) {
	for name, change := range map[string]func(*hyperv1.HostedControlPlane){
		"it is not wanted":               func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Capabilities = nil },
		"no bucket":                      func(hcp *hyperv1.HostedControlPlane) { hcp.Status.ImageRegistry = nil },
		"a bucket that is being created": func(hcp *hyperv1.HostedControlPlane) { hcp.Status.ImageRegistry.Ready = nil },
	} {
		for _, c := range []component.Component[*target.HostedCluster]{imageregistry.Component, imageregistrynode.Component} {
			objs := desired(t, c, func(hcp *hyperv1.HostedControlPlane) { withImageRegistry(hcp); change(hcp) })
			if len(objs) > 0 {
				t.Errorf("%s: %d objects of %s are desired", name, len(objs), c.Name)
			}
		}
	}
}

func TestDesiredWorkloads(t *testing.T) {
	for name, tc := range map[string]struct {
		of     component.Component[*target.HostedCluster]
		change func(*hyperv1.HostedControlPlane)
	}{
		"coredns": {coredns.Component, nil},
		"coredns-single": {coredns.Component, func(hcp *hyperv1.HostedControlPlane) {
			hcp.Spec.InfrastructureAvailabilityPolicy = hyperv1.SingleReplica
		}},
		"coredns-dual-stack": {coredns.Component, func(hcp *hyperv1.HostedControlPlane) {
			hcp.Spec.Networking.ServiceNetwork = append(hcp.Spec.Networking.ServiceNetwork, hyperv1.ServiceNetworkEntry{CIDR: "fd02::/112"})
		}},
		"kube-proxy": {kubeproxy.Component, nil},
		"kube-proxy-private": {kubeproxy.Component, func(hcp *hyperv1.HostedControlPlane) {
			hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Private
			hcp.Spec.Networking.ClusterNetwork = nil
		}},
		"konnectivity-agent": {konnectivityagent.Component, nil},
		"flannel":            {flannel.Component, nil},
		"flannel-dual-stack": {flannel.Component, func(hcp *hyperv1.HostedControlPlane) {
			hcp.Spec.Networking.ClusterNetwork = append(hcp.Spec.Networking.ClusterNetwork, hyperv1.ClusterNetworkEntry{CIDR: "fd01::/48"})
		}},
		"ebs-csi-node": {ebscsinode.Component, func(hcp *hyperv1.HostedControlPlane) {
			hcp.Spec.Platform.AWS.RolesRef.StorageARN = "arn:aws:iam::123456789012:role/storage"
		}},
		"traefik": {traefik.Component, func(hcp *hyperv1.HostedControlPlane) {
			hcp.Spec.Capabilities = ingress
			hcp.Spec.OperatorConfiguration = published(&operatorv1.EndpointPublishingStrategy{Type: operatorv1.LoadBalancerServiceStrategyType, LoadBalancer: &operatorv1.LoadBalancerStrategy{
				Scope: operatorv1.ExternalLoadBalancer, AllowedSourceRanges: []operatorv1.CIDR{"192.0.2.0/24", "198.51.100.0/24"},
				ProviderParameters: &operatorv1.ProviderLoadBalancerParameters{Type: operatorv1.AWSLoadBalancerProvider, AWS: &operatorv1.AWSLoadBalancerParameters{
					Type: operatorv1.AWSNetworkLoadBalancer, NetworkLoadBalancerParameters: &operatorv1.AWSNetworkLoadBalancerParameters{
						Subnets:        &operatorv1.AWSSubnets{IDs: []operatorv1.AWSSubnetID{"subnet-1", "subnet-2"}},
						EIPAllocations: []operatorv1.EIPAllocation{"eipalloc-1", "eipalloc-2"},
					},
				}},
			}})
		}},
		"traefik-private-single": {traefik.Component, func(hcp *hyperv1.HostedControlPlane) {
			hcp.Spec.Capabilities, hcp.Spec.InfrastructureAvailabilityPolicy = ingress, hyperv1.SingleReplica
			hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Private
		}},
		"traefik-node-port": {traefik.Component, func(hcp *hyperv1.HostedControlPlane) {
			hcp.Spec.Capabilities, hcp.Spec.OperatorConfiguration = ingress, published(&operatorv1.EndpointPublishingStrategy{Type: operatorv1.NodePortServiceStrategyType})
		}},
		"image-registry": {imageregistry.Component, withImageRegistry},
		"image-registry-single": {imageregistry.Component, func(hcp *hyperv1.HostedControlPlane) {
			withImageRegistry(hcp)
			hcp.Spec.InfrastructureAvailabilityPolicy = hyperv1.SingleReplica
		}},
		"image-registry-node": {imageregistrynode.Component, withImageRegistry},
		"image-registry-node-ipv6": {imageregistrynode.Component, func(hcp *hyperv1.HostedControlPlane) {
			withImageRegistry(hcp)
			hcp.Spec.Networking.ServiceNetwork = []hyperv1.ServiceNetworkEntry{{CIDR: "fd02::/112"}}
		}},
		"metrics-server": {metricsserver.Component, func(hcp *hyperv1.HostedControlPlane) {
			hcp.Status.NodeCount = ptr.To[int32](3)
		}},
		"metrics-server-single": {metricsserver.Component, func(hcp *hyperv1.HostedControlPlane) {
			hcp.Status.NodeCount = ptr.To[int32](1)
			hcp.Spec.InfrastructureAvailabilityPolicy = hyperv1.SingleReplica
		}},
	} {
		t.Run(name, func(t *testing.T) { componenttest.Objects(t, name, desired(t, tc.of, tc.change)) })
	}
}

func TestEveryClusterHasAComponentWithoutWanted(t *testing.T) {
	everywhere := coredns.Component
	everywhere.Wanted = nil
	if len(desired(t, everywhere, nil)) == 0 {
		t.Error("no objects are desired")
	}
}

// Each kind is a request to the hosted cluster in each interval. Objects of a kind that is missing are never deleted.
func TestKindsOfWorkloads(t *testing.T) {
	for _, tc := range []struct {
		of   component.Component[*target.HostedCluster]
		want string
	}{
		{coredns.Component, "ServiceAccount ConfigMap Service PodDisruptionBudget Deployment"},
		{kubeproxy.Component, "ServiceAccount ConfigMap DaemonSet"},
		{konnectivityagent.Component, "Secret DaemonSet"},
		{ebscsinode.Component, "ServiceAccount DaemonSet CSIDriver StorageClass"},
		{traefik.Component, "ServiceAccount Secret ConfigMap Service PodDisruptionBudget Deployment IngressClass"},
		{imageregistry.Component, "ServiceAccount Secret ConfigMap Service PodDisruptionBudget Deployment CronJob"},
		{imageregistrynode.Component, "ServiceAccount ConfigMap DaemonSet"},
		{metricsserver.Component, "ServiceAccount Secret ConfigMap Service PodDisruptionBudget Deployment Unstructured"},
	} {
		var got []string
		for _, list := range workload(tc.of).Kinds {
			kind := fmt.Sprintf("%T", list)
			got = append(got, strings.TrimSuffix(kind[strings.LastIndex(kind, ".")+1:], "List"))
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: got %v, want %s", tc.of.Name, got, tc.want)
		}
	}
}
