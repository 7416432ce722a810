package requirements

import (
	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/validation"
)

// maxSkew is how many minor versions a kubelet may be older than its API server.
// https://kubernetes.io/releases/version-skew-policy/#kubelet
const maxSkew = 3

// Version refuses versions of nodes that the API server does not support, before machines are created.
func Version(nodes, control *release.Release, p *objects.Pool) error {
	return blockOn(checkSkew(nodes.KubernetesVersion, control.KubernetesVersion, oldest(p)))
}

// ControlPlaneImage returns the release that the API server runs at least: the last completed one, or the one in the spec
// before the first rollout is completed.
func ControlPlaneImage(hc *hyperv1.HostedCluster) string {
	if v := hc.Status.ControlPlaneVersion; v != nil {
		for _, h := range v.History {
			if h.State == configv1.CompletedUpdate && h.Image != "" {
				return h.Image
			}
		}
	}
	if v := hc.Status.Version; v != nil {
		for _, h := range v.History {
			if h.State == configv1.CompletedUpdate && h.Image != "" {
				return h.Image
			}
		}
	}
	return hc.Spec.Release.Image
}

// oldest returns the lowest version of the machines of the pool, or "" if there are none.
func oldest(p *objects.Pool) string {
	least := ""
	for _, m := range p.Machines {
		v := parse(m.Spec.Version)
		if v != nil && (least == "" || v.LessThan(parse(least))) {
			least = v.String()
		}
	}
	return least
}

// checkSkew compares the Kubernetes versions of the desired nodes, the API server and the existing nodes ("" if there are
// none).
func checkSkew(desired, control, current string) field.ErrorList {
	d, c, e := parse(desired), parse(control), parse(current)
	if d == nil || c == nil {
		return field.ErrorList{validation.Errorf(hyperv1.NodePoolUnsupportedSkewReason, field.NewPath("spec", "release", "image"), desired, "version %q of the pool and %q of the cluster cannot be compared", desired, control)}
	}
	switch {
	case c.LessThan(d):
		return field.ErrorList{validation.Errorf(hyperv1.NodePoolUnsupportedSkewReason, field.NewPath("spec", "release", "image"), desired,
			"the pool would run Kubernetes %s and the API server runs %s, and nodes must not be newer: upgrade the HostedCluster first, or choose an older release for the pool", desired, control)}
	case d.Major() != c.Major() || d.Minor()+maxSkew < c.Minor():
		return field.ErrorList{validation.Errorf(hyperv1.NodePoolUnsupportedSkewReason, field.NewPath("spec", "release", "image"), desired,
			"the pool would run Kubernetes %s and the API server runs %s, and nodes may be %d minor versions older at most: choose a newer release for the pool", desired, control, maxSkew)}
	case e != nil && (d.Major() < e.Major() || d.Major() == e.Major() && d.Minor() < e.Minor()):
		return field.ErrorList{validation.Errorf(hyperv1.NodePoolUnsupportedSkewReason, field.NewPath("spec", "release", "image"), desired,
			"the nodes run Kubernetes %s, and %s would be a step back to an older minor version: choose a newer release, or create a new pool", current, desired)}
	}
	return nil
}

func parse(v string) *version.Version {
	parsed, err := version.ParseSemantic(v)
	if err != nil {
		return nil
	}
	return parsed
}
