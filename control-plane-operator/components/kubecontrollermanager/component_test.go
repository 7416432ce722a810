package kubecontrollermanager

import (
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/signingkeys"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
)

func TestGolden(t *testing.T) {
	targettest.Golden(t, Component, targettest.Single, targettest.HighlyAvailable,
		targettest.Case{Name: "node-ranges-of-both-families", Adapt: func(env *target.ControlPlane) {
			n := &env.HCP.Spec.Networking
			n.NetworkType, n.AllocateNodeCIDRs = hyperv1.Other, ptr.To(hyperv1.AllocateNodeCIDRsEnabled)
			n.ClusterNetwork = []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14", HostPrefix: 23}, {CIDR: "fd01::/48", HostPrefix: 64}}
			n.ServiceNetwork = []hyperv1.ServiceNetworkEntry{{CIDR: "172.31.0.0/16"}, {CIDR: "fd02::/112"}}
		}},
		targettest.Case{Name: "without-nodes", Adapt: func(env *target.ControlPlane) { env.ExpectsNodes = false }},
	)
}

// The pods show with which key they have started. A change of another part of the Secret does not restart them.
func TestPodsShowTheirSigningKey(t *testing.T) {
	private, public, err := webidentity.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	key, err := signingkeys.NewKey(private)
	if err != nil {
		t.Fatal(err)
	}
	render := func(data map[string][]byte) map[string]string {
		t.Helper()
		env := targettest.Env()
		env.Secrets[names.ServiceAccountSigningKey] = &corev1.Secret{Data: data}
		objs, err := component.Render(Component, env)
		if err != nil {
			t.Fatal(err)
		}
		return objs[len(objs)-1].(*appsv1.Deployment).Spec.Template.Annotations
	}
	first := render(map[string][]byte{names.ServiceAccountPrivateKeyFile: private, names.ServiceAccountPublicKeyFile: public})
	if first[SigningKeyAnnotation] != key.ID {
		t.Errorf("the annotations are %v", first)
	}
	if rotating := render(map[string][]byte{
		names.ServiceAccountPrivateKeyFile: private, names.ServiceAccountPublicKeyFile: append(public, public...),
		names.NextServiceAccountPrivateKeyFile: private, names.ServiceAccountKeysRecord: []byte("{}"),
	}); !maps.Equal(first, rotating) {
		t.Errorf("the annotations were %v, and are %v", first, rotating)
	}
	if broken := render(map[string][]byte{names.ServiceAccountPrivateKeyFile: []byte("rubbish")}); broken[SigningKeyAnnotation] != "" {
		t.Errorf("a key that cannot be read: %v", broken)
	}
}

func TestInvalidClusterNetworkIsRejected(t *testing.T) {
	env := targettest.Env()
	env.HCP.Spec.Networking.NetworkType = hyperv1.Other
	env.HCP.Spec.Networking.AllocateNodeCIDRs = ptr.To(hyperv1.AllocateNodeCIDRsEnabled)
	env.HCP.Spec.Networking.ClusterNetwork = []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0"}}
	if _, err := component.Render(Component, env); err == nil {
		t.Error("a range without a length was accepted")
	}
}

func TestNodeRanges(t *testing.T) {
	const allocated = "--allocate-node-cidrs=true"
	for name, c := range map[string]struct {
		change func(*target.ControlPlane)
		want   bool
		err    string
	}{
		"the pod network of the release needs ranges": {change: func(*target.ControlPlane) {}, want: true},
		"a release without a pod network needs none": {change: func(env *target.ControlPlane) {
			env.Release = &release.Release{Components: map[string]string{}}
		}},
		"another plugin needs none":                      {change: func(env *target.ControlPlane) { env.HCP.Spec.Networking.NetworkType = hyperv1.Calico }},
		"a pod network that the user has taken over may": {change: unmanaged, want: true},
		"ranges without room are rejected": {
			change: func(env *target.ControlPlane) {
				env.HCP.Spec.Networking.ClusterNetwork = []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/26"}}
			},
			err: "no room",
		},
		"ranges without room do not concern a user who has taken over the pod network": {change: func(env *target.ControlPlane) {
			unmanaged(env)
			env.HCP.Spec.Networking.ClusterNetwork = []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/26"}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			env := targettest.Env()
			env.HCP.Spec.Networking.NetworkType = ""
			c.change(env)
			args, err := nodeRangeArgs(env)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("the error is %v, not %q", err, c.err)
				}
				return
			}
			if err != nil || slices.Contains(args, allocated) != c.want {
				t.Errorf("the arguments are %v, %v", args, err)
			}
		})
	}
}

func unmanaged(env *target.ControlPlane) {
	env.HCP.Annotations = map[string]string{hyperv1.PodNetworkAnnotation: hyperv1.PodNetworkUnmanaged}
}

// The API server must have the same features.
func TestFeatureGatesMatchTheAPIServer(t *testing.T) {
	targettest.Features(t, Component)
}
