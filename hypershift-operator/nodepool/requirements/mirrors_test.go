package requirements

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
)

func TestNodesGetTheMirrorsOfTheCluster(t *testing.T) {
	hc := &hyperv1.HostedCluster{}
	hc.Name = "demo"
	if mirrors, err := clusterMirrors(hc); mirrors != nil || err != nil {
		t.Errorf("a cluster without mirrors has %v, %v", mirrors, err)
	}
	hc.Spec.ImageContentSources = []hyperv1.ImageContentSource{{Source: "quay.io", Mirrors: []string{"mirror.example.com"}}}
	mirrors, err := clusterMirrors(hc)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]nodeconfig.Mirror{{Source: "quay.io", Mirrors: []string{"mirror.example.com"}}}, mirrors); diff != "" {
		t.Errorf("mirrors (-want +got):\n%s", diff)
	}
	hc.Spec.ImageContentSources[0] = hyperv1.ImageContentSource{Source: "quay.io/team", Mirrors: []string{"mirror.example.com/other"}}
	if _, err := clusterMirrors(hc); err == nil || !strings.Contains(err.Error(), "spec.imageContentSources of HostedCluster demo: mirror") {
		t.Errorf("a mirror that containerd cannot use: %v", err)
	}
}
