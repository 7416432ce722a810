package report

import (
	"regexp"
	"slices"
	"strings"
)

// BeyondFilter is the filter of ginkgo for specs that are no conformance tests. They run in parallel, are neither slow nor flaky, and need no
// feature that a cluster may lack.
const BeyondFilter = "!Conformance && Feature: isEmpty && !Serial && !Slow && !Disruptive && !Flaky"

// beyondSIGs are the special interest groups (SIGs) with specs that run beyond the conformance tests.
var beyondSIGs = []string{"api-machinery", "apps", "auth", "cli", "network", "node", "storage"}

// LeftOut is a group of specs that do not run, because they cannot pass here or take too long.
type LeftOut struct {
	Group  string `json:"group"`
	Reason string `json:"reason"`
	Specs  int    `json:"specs"`
}

// group is a group of specs that are left out. A spec belongs to the first group that contains a part of its name.
type group struct {
	name, reason string
	parts        []string
}

// groups are those that are left out beyond the conformance tests. A spec that recognizes that it cannot run needs no group: it skips itself.
var groups = []group{
	{
		name:   "volumes of other clouds",
		reason: "The drivers need the API of their cloud.",
		parts:  []string{"[Driver: azure-disk]", "[Driver: azure-file]", "[Driver: cinder]", "[Driver: vsphere]"},
	},
	{
		name:   "CSI drivers",
		reason: "Their images are not built here.",
		parts:  []string{"[Driver: csi-hostpath]", "CSI Mock", "MutableCSINodeAllocatableCount"},
	},
	{
		name:   "NFS",
		reason: "The server's image is not built here.",
		parts:  []string{"[Driver: nfs]", "[Driver: nfs3]", "PersistentVolumes NFS"},
	},
	{
		name:   "local volumes that are no plain directories",
		reason: "They repeat the specs of plain directories, which run. The nodes of the lab share the loop devices of one machine.",
		parts: []string{
			"[LocalVolumeType: block", "[LocalVolumeType: dir-", "[LocalVolumeType: tmpfs]",
			"[Volume type: block", "[Volume type: dir-", "[Volume type: tmpfs]", "PersistentVolumes-expansion loopback local block volume",
		},
	},
	{
		name:   "dynamic resource allocation with a driver",
		reason: "The image of the CSI host path driver is not built here.",
		parts:  []string{"[DRA] control plane"},
	},
	{
		name:   "resize of running pods",
		reason: "They test how the kubelet changes the control groups of a running pod, in all combinations, and take almost half of the time of a run.",
		parts:  []string{"Pod InPlace Resize"},
	},
	{
		name:   "connection tracking of the kernel",
		reason: "They need the images distroless-iptables and regression-issue-74839, which are not built here.",
		parts:  []string{"KubeProxy should set TCP CLOSE_WAIT timeout", "should not be vulnerable to the invalid conntrack state bug"},
	},
}

// Beyond divides a list of specs that are no conformance tests. It returns the specs of the selection that run, the groups of it that are left out,
// and a regular expression for ginkgo that matches all specs of the list that are left out or belong to other SIGs.
func Beyond(list []string, s Selection) (wanted []string, leftOut []LeftOut, skip string) {
	var others []string
	counts := make([]int, len(groups))
	for _, name := range list {
		if sig := SIG(name); !s.sig(sig) {
			others = append(others, "[sig-"+sig+"]")
			continue
		}
		if !s.Includes(name) {
			continue
		}
		if i := groupOf(name); i >= 0 {
			counts[i]++
		} else {
			wanted = append(wanted, name)
		}
	}
	slices.Sort(others)
	parts := slices.Compact(others)
	for i, g := range groups {
		parts = append(parts, g.parts...)
		if counts[i] > 0 {
			leftOut = append(leftOut, LeftOut{Group: g.name, Reason: g.reason, Specs: counts[i]})
		}
	}
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return wanted, leftOut, strings.Join(parts, "|")
}

// sig reports whether specs of a SIG can be selected.
func (s Selection) sig(name string) bool {
	return slices.Contains(beyondSIGs, name) && (!s.Quick || quick.MatchString("[sig-"+name+"]"))
}

// groupOf is the index of the group to which a spec belongs, or -1.
func groupOf(name string) int {
	return slices.IndexFunc(groups, func(g group) bool { return hasPart(name, g.parts) })
}

// hasPart reports whether a name has one of these parts.
func hasPart(name string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
}
