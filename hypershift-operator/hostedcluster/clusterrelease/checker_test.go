package clusterrelease

import (
	"context"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
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

// etcd 3.7 panics with the data of 3.5, and an older etcd cannot read the data of a newer one.
func TestStepsOfEtcd(t *testing.T) {
	const former, next = "example.test/release:1", "example.test/release:2"
	for name, c := range map[string]struct {
		runs, wanted string
		unmanaged    bool
		annotations  map[string]string
		unreadable   bool
		// moved: the release is another content of the same tag.
		moved   bool
		refused bool
	}{
		"the same":                              {runs: "3.6.8", wanted: "3.6.8"},
		"a patch back":                          {runs: "3.6.8", wanted: "3.6.5"},
		"the next minor version":                {runs: "3.5.21", wanted: "3.6.8"},
		"a minor version is skipped":            {runs: "3.5.21", wanted: "3.7.0", refused: true},
		"a minor version back":                  {runs: "3.6.8", wanted: "3.5.21", refused: true},
		"another major version":                 {runs: "3.6.8", wanted: "4.0.0", refused: true},
		"a release that does not specify it":    {runs: "3.5.21"},
		"a cluster with an unknown etcd":        {wanted: "3.7.0"},
		"a release that cannot be read anymore": {runs: "3.5.21", wanted: "3.7.0", unreadable: true},
		"a tag that has moved":                  {runs: "3.5.21", wanted: "3.7.0", moved: true, refused: true},
		"a tag that has moved by a patch":       {runs: "3.6.5", wanted: "3.6.8", moved: true},
		"an etcd of the user":                   {runs: "3.5.21", wanted: "3.7.0", unmanaged: true},
		"the user insists":                      {runs: "3.5.21", wanted: "3.7.0", annotations: map[string]string{hyperv1.ForceUpgradeToAnnotation: next}},
	} {
		t.Run(name, func(t *testing.T) {
			was, is := fakerelease.Kubernetes(former, "1.35.4"), fakerelease.Kubernetes(next, "1.36.3")
			was.EtcdVersion, is.EtcdVersion = c.runs, c.wanted
			registry := fakerelease.New(was, is)
			if c.unreadable {
				registry.Fail(former, release.NotFound, "deleted")
			}
			hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations}, Spec: hyperv1.HostedClusterSpec{Release: hyperv1.Release{Image: next}}}
			hc.Spec.NodeSelector = map[string]hyperv1.LabelValue{corev1.LabelArchStable: "amd64"}
			if hc.Spec.Etcd.ManagementType = hyperv1.Managed; c.unmanaged {
				hc.Spec.Etcd.ManagementType = hyperv1.Unmanaged
			}
			hc.Status.Version = &hyperv1.ClusterVersionStatus{History: []configv1.UpdateHistory{{State: configv1.CompletedUpdate, Version: "1.35.4", Image: former}}}
			cluster := Cluster{
				HostedCluster: hc, ControlPlane: &hyperv1.HostedControlPlane{Spec: hyperv1.HostedControlPlaneSpec{ReleaseImage: former}},
				PullSecret: func(context.Context) ([]byte, error) { return []byte(`{"auths":{}}`), nil },
			}
			if c.moved {
				// The registry of the test finds a digest below any tag.
				was.Digest, is.Digest = "sha256:was", "sha256:is"
				registry.Put(is)
				cluster.ControlPlane.Spec.ReleaseImage = next
				cluster.ControlPlane.Annotations = map[string]string{hyperv1.ReleaseDigestAnnotation: was.Digest}
			}
			s, err := Checker{Releases: registry}.Check(t.Context(), cluster)
			if refused := err != nil; refused != c.refused || s.Held != c.refused {
				t.Errorf("held %v: %v", s.Held, err)
			}
			if c.refused && !strings.Contains(err.Error(), "it runs etcd "+c.runs+", and that release has etcd "+c.wanted) {
				t.Errorf("error %v", err)
			}
		})
	}
}
