package supervisor

import (
	"testing"

	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

func TestMachineJoinsItsManagementCluster(t *testing.T) {
	s := &supervisor{first: &management{dir: "/lab"}}
	if _, err := s.managementOf(cluster.MachineOptions{Second: true}); err == nil {
		t.Error("a machine joins a second management cluster that does not run")
	}
	second := &management{dir: cluster.SecondDir("/lab")}
	s.second.set(second, func() {})
	for name, c := range map[string]struct {
		in   cluster.MachineOptions
		want *management
	}{
		"the first one by default":      {want: s.first},
		"the second one":                {in: cluster.MachineOptions{Second: true}, want: second},
		"another cluster by kubeconfig": {in: cluster.MachineOptions{Join: "kubeconfig"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.managementOf(c.in)
			if err != nil || got != c.want {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// Servers of both run in one network namespace.
func TestPortsOfManagementClustersDiffer(t *testing.T) {
	first, second := &management{}, &management{addresses: addresses{portOffset: secondPortOffset}}
	taken := map[string]bool{}
	for _, m := range []*management{first, second} {
		for _, port := range []int{2379, 2380, 2381, 10257, 10259} {
			at := m.local("http", port)
			if taken[at] {
				t.Errorf("two servers listen on %s", at)
			}
			taken[at] = true
		}
	}
}
