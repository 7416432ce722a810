package imageregistry

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestConditionOfTheRegistry(t *testing.T) {
	for name, c := range map[string]struct {
		facts  Facts
		bucket *hyperv1.ImageRegistryRecord
		nodes  *int32
		status metav1.ConditionStatus
		reason string
		words  string
	}{
		"a release without it":                   {Facts{Release: "1.36.3"}, nil, ptr.To[int32](2), "False", hyperv1.NoImageRegistryInReleaseReason, "release 1.36.3 has no image image-registry"},
		"no bucket":                              {Facts{HasImage: true}, nil, ptr.To[int32](2), "False", hyperv1.WaitingForBucketReason, "ImageRegistryBucketAvailable"},
		"an unfinished bucket":                   {Facts{HasImage: true}, &hyperv1.ImageRegistryRecord{Ready: ptr.To(false)}, ptr.To[int32](2), "False", hyperv1.WaitingForBucketReason, ""},
		"no nodes":                               {Facts{HasImage: true}, &hyperv1.ImageRegistryRecord{Ready: ptr.To(true)}, nil, "Unknown", hyperv1.NoNodesReason, "the cluster has none"},
		"no pod":                                 {Facts{HasImage: true}, &hyperv1.ImageRegistryRecord{Ready: ptr.To(true)}, ptr.To[int32](2), "False", hyperv1.ImageRegistryNotRunningReason, "Deployment kube-system/image-registry"},
		"it runs":                                {Facts{HasImage: true, Ready: 1}, &hyperv1.ImageRegistryRecord{Ready: ptr.To(true)}, ptr.To[int32](2), "True", hyperv1.AsExpectedReason, "image-registry.kube-system.svc/<namespace>/<name>"},
		"it runs, and the nodes are not counted": {Facts{HasImage: true, Ready: 1}, &hyperv1.ImageRegistryRecord{Ready: ptr.To(true)}, nil, "True", hyperv1.AsExpectedReason, ""},
	} {
		hcp := &hyperv1.HostedControlPlane{}
		hcp.Status.ImageRegistry, hcp.Status.NodeCount = c.bucket, c.nodes
		if got := c.facts.Condition(hcp); got.Status != c.status || got.Reason != c.reason || !strings.Contains(got.Message, c.words) {
			t.Errorf("%s: %s %s: %s", name, got.Status, got.Reason, got.Message)
		}
	}
}
