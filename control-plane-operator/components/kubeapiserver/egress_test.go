package kubeapiserver

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiserverv1beta1 "k8s.io/apiserver/pkg/apis/apiserver/v1beta1"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/internal/component"
)

// selections are the sockets by the name of the egress selection, as the API server reads them.
func selections(t *testing.T, annotations map[string]string) map[string]string {
	t.Helper()
	env := targettest.Env()
	env.HCP.Annotations = annotations
	objs, err := component.Render(Component, env)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, obj := range objs {
		cm, ok := obj.(*corev1.ConfigMap)
		if !ok || cm.Name != "kas-egress-selector" {
			continue
		}
		var config apiserverv1beta1.EgressSelectorConfiguration
		if err := yaml.UnmarshalStrict([]byte(cm.Data["config.yaml"]), &config); err != nil {
			t.Fatal(err)
		}
		for _, s := range config.EgressSelections {
			found[s.Name] = s.Connection.Transport.UDS.UDSName
		}
	}
	return found
}

// Webhooks with a URL may be in a network that nodes do not reach: only the user knows it.
func TestWebhooksAreReachedThroughTheTunnelsOnRequest(t *testing.T) {
	const socket = "/run/konnectivity/server.sock"
	for value, want := range map[string]map[string]string{
		"":      {"cluster": socket},
		"false": {"cluster": socket},
		"true":  {"cluster": socket, "controlplane": socket},
	} {
		if got := selections(t, map[string]string{hyperv1.WebhooksInClusterNetworkAnnotation: value}); !maps.Equal(got, want) {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}
