// Package targettest has targets for tests of components.
package targettest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/release/payload"
)

// Env is a cluster in which everything is as simple as it can be: one of each
// component, all images, hosts known, nothing configured.
func Env() *target.ControlPlane {
	return &target.ControlPlane{
		HCP: &hyperv1.HostedControlPlane{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "clusters-demo", Name: "demo", UID: "00000000-0000-4000-8000-000000000001", Generation: 1,
				Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo"},
			},
			Spec: hyperv1.HostedControlPlaneSpec{
				ReleaseImage:                 "registry.example.com/release:1.36.3",
				InfraID:                      "demo-x7k2p",
				IssuerURL:                    "https://oidc.example.com/demo-x7k2p",
				ControllerAvailabilityPolicy: hyperv1.SingleReplica,
				PullSecret:                   corev1.LocalObjectReference{Name: names.PullSecret},
				Networking: hyperv1.ClusterNetworking{
					ClusterNetwork: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}},
					ServiceNetwork: []hyperv1.ServiceNetworkEntry{{CIDR: "172.31.0.0/16"}},
					MachineNetwork: []hyperv1.MachineNetworkEntry{{CIDR: "10.0.0.0/16"}},
				},
				Platform: hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{
					Region: "us-east-1", RolesRef: hyperv1.AWSRolesRef{StorageARN: "arn:aws:iam::123456789012:role/storage"},
				}},
				Etcd: hyperv1.EtcdSpec{ManagementType: hyperv1.Managed},
			},
			Status: hyperv1.HostedControlPlaneStatus{KubeletVerification: hyperv1.KubeletVerificationEnabled},
		},
		Release:       Release("1.36.3"),
		OperatorImage: "registry.example.com/control-plane-operator:test",
		ExpectsNodes:  true,
		API:           target.Host{Name: "api.demo.example.com", Port: 6443},
		Konnectivity:  target.Host{Name: "konnectivity.demo.example.com", Port: 443},
		Secrets:       map[string]*corev1.Secret{},
		ConfigMaps: map[string]*corev1.ConfigMap{
			names.KubeletServingCA: {ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: names.KubeletServingCA}, Data: map[string]string{pki.TrustKey: "those who sign for kubelets"}},
		},
	}
}

// HostedCluster is a hosted cluster in which everything is known.
func HostedCluster() *target.HostedCluster {
	env := Env()
	env.HCP.Spec.Capabilities = &hyperv1.Capabilities{Enabled: []hyperv1.OptionalCapability{hyperv1.IngressCapability, hyperv1.ImageRegistryCapability}}
	env.HCP.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.Konnectivity, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}}}
	env.HCP.Status.ImageRegistry = &hyperv1.ImageRegistryRecord{
		Bucket: "demo-x7k2p-image-registry-0a1b2c3d", Region: "us-east-1", IssuerURL: env.HCP.Spec.IssuerURL, RoleARN: "arn:aws:iam::123456789012:role/image-registry", Ready: ptr.To(true),
	}
	return &target.HostedCluster{
		HCP: env.HCP, Release: env.Release, OperatorImage: env.OperatorImage,
		API:          target.FactOf(env.API, nil),
		Konnectivity: target.FactOf(env.Konnectivity, nil),
		Authorities:  target.FactOf([]byte("authorities"), nil),
		KonnectivityCertificate: target.FactOf(map[string][]byte{
			corev1.TLSCertKey: []byte("certificate"), corev1.TLSPrivateKeyKey: []byte("key"), pki.TrustKey: []byte("authority"),
		}, nil),
		IngressCertificate: target.FactOf(map[string][]byte{
			corev1.TLSCertKey: []byte("certificate"), corev1.TLSPrivateKeyKey: []byte("key"),
		}, nil),
		ImageRegistryCertificate: target.FactOf(map[string][]byte{
			corev1.TLSCertKey: []byte("certificate"), corev1.TLSPrivateKeyKey: []byte("key"),
		}, nil),
		MetricsServerCertificate: target.FactOf(map[string][]byte{
			corev1.TLSCertKey: []byte("certificate"), corev1.TLSPrivateKeyKey: []byte("key"), pki.TrustKey: []byte("authority"),
		}, nil),
		KubeletAuthorities: target.FactOf([]byte("authorities of kubelets"), nil),
	}
}

// Release is a payload of plain Kubernetes that has every image of hack/payload.
func Release(version string) *release.Release {
	rel := &release.Release{Image: "registry.example.com/release:" + version, Version: version, KubernetesVersion: version, Components: map[string]string{}}
	for _, name := range images() {
		rel.Components[name] = "registry.example.com/" + name + ":" + version
	}
	return rel
}

// images returns the names of the images of a release. It panics if the checkout has no description of one.
var images = sync.OnceValue(func() []string {
	root, err := pinned.Root()
	if err != nil {
		panic(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "hack", "payload", "kubernetes-1.36.3.yaml"))
	if err != nil {
		panic(err)
	}
	described, err := payload.Parse(text)
	if err != nil {
		panic(err)
	}
	return slices.Collect(maps.Keys(described.Components))
})

// Trusting is for a Case in which the user brings authorities of his own.
func Trusting(env *target.ControlPlane) {
	env.HCP.Spec.AdditionalTrustBundle = &corev1.LocalObjectReference{Name: names.UserCABundle}
	env.ConfigMaps[names.UserCABundle] = &corev1.ConfigMap{Data: map[string]string{"ca-bundle.crt": "-----BEGIN CERTIFICATE-----\n"}}
}
