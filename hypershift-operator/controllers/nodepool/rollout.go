package nodepool

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// old counts the outdated machines. It compares the Machines with the current templates: right after a change, the counters
// of a MachineDeployment are those of the former template.
type old struct{ version, config, template int }

func (s *scope) old() old {
	var o old
	for i := range s.machines {
		m := &s.machines[i]
		set := s.setOf(m)
		if m.Spec.Version != nodeVersion(s.release) {
			o.version++
		}
		if set == nil {
			continue
		}
		if ref := set.Spec.Template.Spec.Bootstrap.ConfigRef.Name; ref != s.bootstrap && s.configOf(ref) != s.nodeConfig {
			o.config++
		}
		if set.Spec.Template.Spec.InfrastructureRef.Name != s.template {
			o.template++
		}
	}
	return o
}

// setOf returns the MachineSet of a machine, or nil if it is not known.
func (s *scope) setOf(m *clusterv1.Machine) *clusterv1.MachineSet {
	owner := metav1.GetControllerOf(m)
	if owner == nil {
		return nil
	}
	for i := range s.machineSets {
		if s.machineSets[i].Name == owner.Name {
			return &s.machineSets[i]
		}
	}
	return nil
}

func (s *scope) bootstrapNamed(name string) *hyperv1.NodeBootstrapTemplate {
	for i := range s.bootstraps {
		if s.bootstraps[i].Name == name {
			return &s.bootstraps[i]
		}
	}
	return nil
}

// configOf returns the name of the Secret of a NodeBootstrapTemplate.
func (s *scope) configOf(name string) string {
	if b := s.bootstrapNamed(name); b != nil {
		return b.Spec.Template.Spec.ConfigName
	}
	return ""
}

// nodesInfo counts the nodes by version.
func (s *scope) nodesInfo() hyperv1.NodesInfo {
	type key struct{ release, kubelet string }
	counts := map[key]*hyperv1.NodeVersion{}
	for i := range s.machines {
		m := &s.machines[i]
		if !m.Status.NodeRef.IsDefined() {
			continue
		}
		k := key{release: s.releaseOf(m), kubelet: kubeletOf(m)}
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
func (s *scope) releaseOf(m *clusterv1.Machine) string {
	if set := s.setOf(m); set != nil {
		if b := s.bootstrapNamed(set.Spec.Template.Spec.Bootstrap.ConfigRef.Name); b != nil {
			return b.Annotations[hyperv1.ReleaseVersionAnnotation]
		}
	}
	return strings.TrimPrefix(m.Spec.Version, "v")
}

// kubeletOf returns the version that the node reports, or the one that the machine was created with.
func kubeletOf(m *clusterv1.Machine) string {
	if info := m.Status.NodeInfo; info != nil && info.KubeletVersion != "" {
		return info.KubeletVersion
	}
	return m.Spec.Version
}
