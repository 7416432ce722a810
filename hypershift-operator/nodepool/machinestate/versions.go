package machinestate

import (
	"cmp"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
)

// Outdated counts the machines that differ from the current templates.
type Outdated struct{ Version, Config, Template int }

// OutdatedOf compares the Machines with the current templates, and with the version that new machines have. Right after a change, the
// counters of a MachineDeployment are the former template's.
func OutdatedOf(p *objects.Pool, current objects.Current, version string) Outdated {
	var o Outdated
	for i := range p.Machines {
		m := &p.Machines[i]
		set := p.MachineSetOf(m)
		if m.Spec.Version != version {
			o.Version++
		}
		if set == nil {
			continue
		}
		if ref := set.Spec.Template.Spec.Bootstrap.ConfigRef.Name; ref != current.Bootstrap && configOf(p, ref) != current.Config {
			o.Config++
		}
		if set.Spec.Template.Spec.InfrastructureRef.Name != current.Template {
			o.Template++
		}
	}
	return o
}

// configOf returns the name of the Secret of a NodeBootstrapTemplate.
func configOf(p *objects.Pool, name string) string {
	if b := p.Bootstrap(name); b != nil {
		return b.Spec.Template.Spec.ConfigName
	}
	return ""
}

// NodesInfo counts the nodes by version.
func NodesInfo(p *objects.Pool) hyperv1.NodesInfo {
	type key struct{ release, kubelet string }
	counts := map[key]*hyperv1.NodeVersion{}
	for i := range p.Machines {
		m := &p.Machines[i]
		if !m.Status.NodeRef.IsDefined() {
			continue
		}
		k := key{release: releaseOf(p, m), kubelet: kubeletOf(m)}
		if counts[k] == nil {
			counts[k] = &hyperv1.NodeVersion{OCPVersion: k.release, KubeletVersion: k.kubelet}
		}
		if healthy(m) {
			counts[k].ReadyNodeCount++
		} else {
			counts[k].UnreadyNodeCount++
		}
	}
	var info hyperv1.NodesInfo
	for _, count := range counts {
		info.NodeVersions = append(info.NodeVersions, *count)
	}
	slices.SortFunc(info.NodeVersions, func(a, b hyperv1.NodeVersion) int {
		return cmp.Or(cmp.Compare(a.OCPVersion, b.OCPVersion), cmp.Compare(a.KubeletVersion, b.KubeletVersion))
	})
	return info
}

// releaseOf returns the release of a machine.
func releaseOf(p *objects.Pool, m *clusterv1.Machine) string {
	if set := p.MachineSetOf(m); set != nil {
		if b := p.Bootstrap(set.Spec.Template.Spec.Bootstrap.ConfigRef.Name); b != nil {
			return b.Annotations[hyperv1.ReleaseVersionAnnotation]
		}
	}
	return strings.TrimPrefix(m.Spec.Version, "v")
}

// kubeletOf returns the version that the node reports, or the version that the machine was created with.
func kubeletOf(m *clusterv1.Machine) string {
	if info := m.Status.NodeInfo; info != nil && info.KubeletVersion != "" {
		return info.KubeletVersion
	}
	return m.Spec.Version
}
