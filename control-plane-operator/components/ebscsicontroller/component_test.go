package ebscsicontroller

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

func TestGolden(t *testing.T) {
	targettest.Golden(t, Component, targettest.Single, targettest.HighlyAvailable,
		targettest.Case{Name: "with-snapshots", Adapt: func(env *target.ControlPlane) {
			env.Release.Components[names.CSISnapshotterImage] = "registry.example.com/csi-external-snapshotter:1.36.3"
			env.HCP.Spec.Platform.AWS.ResourceTags = []hyperv1.AWSResourceTag{{Key: "team", Value: "storage"}, {Key: "kubernetes.io/cluster/demo", Value: "owned"}}
			env.Egress = []corev1.EnvVar{{Name: "AWS_ENDPOINT_URL", Value: "http://aws.test"}}
			targettest.Trusting(env)
		}},
	)
}

func TestDriverNeedsARoleAndNodes(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*target.ControlPlane)
		want   bool
	}{
		"a cluster with nodes and a role": {func(*target.ControlPlane) {}, true},
		"not one that expects no nodes":   {func(env *target.ControlPlane) { env.ExpectsNodes = false }, false},
		"not one without a role":          {func(env *target.ControlPlane) { env.HCP.Spec.Platform.AWS.RolesRef.StorageARN = "" }, false},
		"not one outside of AWS":          {func(env *target.ControlPlane) { env.HCP.Spec.Platform.AWS = nil }, false},
	} {
		env := targettest.Env()
		env.HCP.Spec.Platform.AWS.RolesRef.StorageARN = "arn:aws:iam::123456789012:role/storage"
		c.change(env)
		if got := Component.Wanted(env); got != c.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
}

// The driver exits if a tag is reserved, and parses a comma as the end of a tag.
func TestTagsThatTheDriverRejectsAreOmitted(t *testing.T) {
	tags := []hyperv1.AWSResourceTag{
		{Key: "team", Value: "a b"}, {Key: "kubernetes.io/created-for/pv/name", Value: "x"}, {Key: "aws:x", Value: "y"},
		{Key: "list", Value: "a,b=c"}, {Key: "a=b", Value: "c"}, {Key: "empty", Value: ""},
	}
	if got, want := extraTags(tags), "team=a b,empty="; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The token that the hosted API server could sign, and the key that signs it, are out of reach of the program from the release.
func TestOnlyTheMinterSeesTheSigningKey(t *testing.T) {
	objs, err := component.Render(Component, targettest.Env())
	if err != nil {
		t.Fatal(err)
	}
	pod := objs[len(objs)-1].(*appsv1.Deployment).Spec.Template.Spec
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, m := range c.VolumeMounts {
			if m.Name == "service-account" && c.Name != "token-minter" {
				t.Errorf("container %s mounts the signing key", c.Name)
			}
		}
		if strings.HasPrefix(c.Name, "csi-") && slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "token" }) {
			t.Errorf("sidecar %s has the token for AWS", c.Name)
		}
	}
}
