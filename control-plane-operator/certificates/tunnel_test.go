package certificates

import (
	"bytes"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Another certificate would roll the API server's pods during their start or during a change of the access mode.
func TestKonnectivityCertificateIsNotChangedByAccessModes(t *testing.T) {
	e := newCertificateAuthorities(t, func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.Konnectivity, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{
			Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: "konnectivity.example.com"},
		}}}
	})
	e.facts.Konnectivity = target.Host{}
	e.Once()
	first := e.secret(names.KonnectivityCertificate).Data[corev1.TLSCertKey]
	for _, name := range []string{"konnectivity.example.com", "konnectivity-server.apps.demo.hypershift.local"} {
		e.facts.Konnectivity.Name = name
		e.Once()
		if now := e.secret(names.KonnectivityCertificate).Data[corev1.TLSCertKey]; !bytes.Equal(now, first) {
			t.Errorf("when it is found as %s it gets another certificate", name)
		}
	}
}

func TestKonnectivityCertificateHasNodeAddresses(t *testing.T) {
	for _, address := range []string{"192.0.2.1", "nodes.example.com"} {
		hcp := &hyperv1.HostedControlPlane{Spec: hyperv1.HostedControlPlaneSpec{Services: []hyperv1.ServicePublishingStrategyMapping{{
			Service: hyperv1.Konnectivity, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{
				Type: hyperv1.NodePort, NodePort: &hyperv1.NodePortPublishingStrategy{Address: address},
			},
		}}}}
		if hosts := tunnelHosts(hcp, Facts{}); !slices.Contains(hosts, address) {
			t.Errorf("its certificate is for %v, and not for %s", hosts, address)
		}
	}
}
