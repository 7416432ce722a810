package hostedclusterresources

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component/componenttest"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/test/fakerelease"
)

// desired returns the objects of a part in a hosted cluster with fixed certificates, sorted by kind.
func desired(t *testing.T, p part, change func(*hyperv1.HostedControlPlane)) []client.Object {
	t.Helper()
	hcp := controlPlane()
	hcp.Status.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: "api.demo.example.com", Port: 6443}
	if change != nil {
		change(hcp)
	}
	certificate := map[string][]byte{corev1.TLSCertKey: []byte("certificate"), corev1.TLSPrivateKeyKey: []byte("key"), pki.TrustKey: []byte("authority")}
	r := newReconciler(Options{
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(route("konnectivity.demo.example.com"), secret(names.KonnectivityAgentCertificate, corev1.SecretTypeTLS, certificate)).Build(),
		Scheme: scheme, Clock: clocktesting.NewFakeClock(time.Now()), Interval: interval,
		Releases: fakerelease.New(&release.Release{Image: oldImage, Version: "1.35.4", Components: map[string]string{
			"coredns": "registry/coredns:1", "kube-proxy": "registry/kube-proxy:1.35.4", names.KonnectivityAgentImage: "registry/agent:1",
		}}),
	})
	authorities := []byte("authorities")
	s := &scope{hcp: hcp, hosted: &door{config: &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: authorities}}, believed: authorities}}
	objs, err := p.desired(r, context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(objs, func(a, b client.Object) int { return strings.Compare(fmt.Sprintf("%T", a), fmt.Sprintf("%T", b)) })
	return objs
}

func TestDesiredWorkloads(t *testing.T) {
	for name, tc := range map[string]struct {
		part   part
		change func(*hyperv1.HostedControlPlane)
	}{
		"coredns": {coreDNS, nil},
		"coredns-single": {coreDNS, func(hcp *hyperv1.HostedControlPlane) {
			hcp.Spec.InfrastructureAvailabilityPolicy = hyperv1.SingleReplica
		}},
		"coredns-dual-stack": {coreDNS, func(hcp *hyperv1.HostedControlPlane) {
			hcp.Spec.Networking.ServiceNetwork = append(hcp.Spec.Networking.ServiceNetwork, hyperv1.ServiceNetworkEntry{CIDR: "fd02::/112"})
		}},
		"kube-proxy": {kubeProxy, nil},
		"kube-proxy-private": {kubeProxy, func(hcp *hyperv1.HostedControlPlane) {
			hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Private
			hcp.Spec.Networking.ClusterNetwork = nil
		}},
		"konnectivity-agent": {konnectivityAgent, nil},
	} {
		t.Run(name, func(t *testing.T) { componenttest.Objects(t, name, desired(t, tc.part, tc.change)) })
	}
}
