package cluster

import (
	"path/filepath"
	"testing"
)

func TestMachinesOfBothManagementClustersHaveDifferentNames(t *testing.T) {
	first, second := Options{Machines: 2, Zones: 2}, Options{Machines: 2, Zones: 2, second: true}
	names := map[string]bool{}
	for _, m := range append(first.FirstMachines(), second.FirstMachines()...) {
		if names[m.Name] {
			t.Errorf("two machines have the name %s", m.Name)
		}
		names[m.Name] = true
	}
	if Kubeconfig(SecondDir("/lab")) == Kubeconfig("/lab") || filepath.Dir(SecondDir("/lab")) != "/lab" {
		t.Errorf("the second cluster is in %s", SecondDir("/lab"))
	}
}

func TestSecondManagementClusterNeedsAWSAndHasNoOther(t *testing.T) {
	for name, lab := range map[string]*Lab{
		"a lab without AWS":             {Dir: t.TempDir()},
		"the second management cluster": {Dir: t.TempDir(), second: true},
	} {
		if _, err := lab.Second(t.Context(), SecondOptions{}); err == nil {
			t.Errorf("%s starts a second management cluster", name)
		}
	}
}
