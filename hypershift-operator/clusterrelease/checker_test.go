package clusterrelease

import (
	"context"
	"testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/test/fakerelease"
)

func TestImagesOfComponents(t *testing.T) {
	const image = "example.test/release:1"
	k := Checker{Releases: fakerelease.New(fakerelease.Kubernetes(image, "1.35.4"))}
	runs := &hyperv1.HostedControlPlane{Spec: hyperv1.HostedControlPlaneSpec{ReleaseImage: image}}
	for name, c := range map[string]struct {
		hcp    *hyperv1.HostedControlPlane
		chosen string
		names  []string
		want   string
		reason string
	}{
		"the choice of the installation wins":     {runs, "mine:1", []string{"cluster-api"}, "mine:1", ""},
		"else the image is that of the release":   {runs, "", []string{"cluster-api"}, "example.test/cluster-api:1.35.4", ""},
		"under the first name that it has":        {runs, "", []string{"cluster-capi-controllers", "cluster-api"}, "example.test/cluster-api:1.35.4", ""},
		"a release without it blocks":             {runs, "", []string{"karpenter"}, "", hyperv1.MissingReleaseImagesReason},
		"before the first release the step waits": {nil, "", []string{"cluster-api"}, "", hyperv1.WaitingForReason},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := Cluster{HostedCluster: &hyperv1.HostedCluster{}, ControlPlane: c.hcp, PullSecret: func(context.Context) ([]byte, error) { return []byte(`{"auths":{}}`), nil }}
			got, err := k.ComponentImage(t.Context(), cluster, &State{}, Component{Names: c.names, Chosen: c.chosen, Flag: "flag"})
			reason := ""
			if err != nil {
				reason, _ = reconcile.ReasonAndMessage(err, reconcile.Classifier{})
			}
			if got != c.want || reason != c.reason {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
