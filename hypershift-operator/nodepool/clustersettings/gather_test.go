package clustersettings_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/clustersettings"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

const namespace = "clusters-demo"

// proxyCA is the name of a copy that no other code knows.
const proxyCA = "copied-proxy-ca"

func controlPlane() *hyperv1.HostedControlPlane {
	return &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo"},
		Spec: hyperv1.HostedControlPlaneSpec{
			SSHKey:                corev1.LocalObjectReference{Name: names.SSHKey},
			AdditionalTrustBundle: &corev1.LocalObjectReference{Name: names.UserCABundle},
			Networking: hyperv1.ClusterNetworking{
				MachineNetwork: []hyperv1.MachineNetworkEntry{{CIDR: "10.0.0.0/16"}},
				ClusterNetwork: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}},
				ServiceNetwork: []hyperv1.ServiceNetworkEntry{{CIDR: "172.31.0.0/16"}, {CIDR: "fd03::/112"}},
			},
			Configuration: &hyperv1.ClusterConfiguration{Proxy: &configv1.ProxySpec{
				HTTPProxy: "http://proxy:3128", HTTPSProxy: "http://proxy:3129", NoProxy: "example.com", TrustedCA: configv1.ConfigMapNameReference{Name: proxyCA},
			}},
		},
	}
}

func meta(name, source string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{hyperv1.CopiedFromAnnotation: source}}
}

func bundle(name, source, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: meta(name, source), Data: map[string]string{"ca-bundle.crt": text}}
}

func sshKey(text string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: meta(names.SSHKey, "my-key"), Data: map[string][]byte{"id_rsa.pub": []byte(text)}}
}

func copies() map[string]client.Object {
	return map[string]client.Object{
		names.SSHKey:       sshKey("ssh-ed25519 AAAA me\n"),
		names.UserCABundle: bundle(names.UserCABundle, "my-bundle", "bundle\n"),
		proxyCA:            bundle(proxyCA, "proxy-ca", "proxy\n"),
	}
}

func gather(t *testing.T, hcp *hyperv1.HostedControlPlane, copies map[string]client.Object) (nodeconfig.ClusterSettings, error) {
	t.Helper()
	b := fake.NewClientBuilder()
	for _, obj := range copies {
		b.WithObjects(obj)
	}
	return clustersettings.Gather(t.Context(), b.Build(), hcp)
}

func TestAllSettingsAreGathered(t *testing.T) {
	got, err := gather(t, controlPlane(), copies())
	if err != nil {
		t.Fatal(err)
	}
	want := nodeconfig.ClusterSettings{
		MachineNetworks: []string{"10.0.0.0/16"}, PodNetworks: []string{"10.132.0.0/14"}, ServiceNetworks: []string{"172.31.0.0/16", "fd03::/112"},
		Proxy: nodeconfig.Proxy{
			HTTP: "http://proxy:3128", HTTPS: "http://proxy:3129", NoProxy: "example.com", TrustedCA: nodeconfig.Source{Name: proxyCA, Text: "proxy\n"},
		},
		TrustBundle: nodeconfig.Source{Name: "my-bundle", Text: "bundle\n"},
		SSHKey:      nodeconfig.Source{Name: "my-key", Text: "ssh-ed25519 AAAA me\n"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAClusterWithoutSettingsHasNone(t *testing.T) {
	got, err := gather(t, &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo"}}, nil)
	if diff := cmp.Diff(nodeconfig.ClusterSettings{}, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

func TestUnusableSettingsAreNamedAndWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		spoil           func(*hyperv1.HostedControlPlane, map[string]client.Object)
		reason, message string
	}{
		"no copy of the SSH key": {
			func(_ *hyperv1.HostedControlPlane, copies map[string]client.Object) { delete(copies, names.SSHKey) },
			hyperv1.WaitingForReason, "copy ssh-key of a Secret",
		},
		"no copy of the trust bundle": {
			func(_ *hyperv1.HostedControlPlane, copies map[string]client.Object) {
				delete(copies, names.UserCABundle)
			},
			hyperv1.WaitingForReason, "copy user-ca-bundle of a ConfigMap",
		},
		"no copy of the authorities of the proxy": {
			func(_ *hyperv1.HostedControlPlane, copies map[string]client.Object) { delete(copies, proxyCA) },
			hyperv1.WaitingForReason, "copy copied-proxy-ca of a ConfigMap",
		},
		"an object that is no copy": {
			func(_ *hyperv1.HostedControlPlane, copies map[string]client.Object) {
				copies[names.SSHKey].SetAnnotations(nil)
			},
			hyperv1.WaitingForReason, "copy ssh-key of a Secret",
		},
		"a Secret without SSH key": {
			func(_ *hyperv1.HostedControlPlane, copies map[string]client.Object) {
				copies[names.SSHKey] = sshKey("# later\n")
			},
			hyperv1.InvalidNodeInputReason, "spec.sshKey of HostedCluster demo: Secret my-key has no SSH key under id_rsa.pub",
		},
		"an empty trust bundle": {
			func(_ *hyperv1.HostedControlPlane, copies map[string]client.Object) {
				copies[names.UserCABundle] = bundle(names.UserCABundle, "my-bundle", " \n")
			},
			hyperv1.InvalidNodeInputReason, "spec.additionalTrustBundle of HostedCluster demo: ConfigMap my-bundle",
		},
		"no authority for the proxy": {
			func(_ *hyperv1.HostedControlPlane, copies map[string]client.Object) {
				copies[proxyCA] = bundle(proxyCA, "proxy-ca", "")
			},
			hyperv1.InvalidNodeInputReason, "spec.configuration.proxy.trustedCA of HostedCluster demo: ConfigMap proxy-ca",
		},
		"a service network without an address for DNS": {
			func(hcp *hyperv1.HostedControlPlane, _ map[string]client.Object) {
				hcp.Spec.Networking.ServiceNetwork = []hyperv1.ServiceNetworkEntry{{CIDR: "10.1.2.0/30"}}
			},
			hyperv1.InvalidNodeInputReason, "spec.networking.serviceNetwork",
		},
		"a trust bundle that no Secret can store": {
			func(_ *hyperv1.HostedControlPlane, copies map[string]client.Object) {
				copies[names.UserCABundle] = bundle(names.UserCABundle, "my-bundle", strings.Repeat("x", 1<<20))
			},
			hyperv1.UserDataTooLargeReason, "16 KiB",
		},
	} {
		t.Run(name, func(t *testing.T) {
			hcp, copies := controlPlane(), copies()
			c.spoil(hcp, copies)
			_, err := gather(t, hcp, copies)
			var waiting *reconcile.Waiting
			if !errors.As(err, &waiting) || waiting.Reason != c.reason || !strings.Contains(waiting.Message, c.message) {
				t.Errorf("got %#v, want %s: %s", err, c.reason, c.message)
			}
		})
	}
}
