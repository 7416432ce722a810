package awsx_test

import (
	"testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

func TestInherit(t *testing.T) {
	of := func(owner, role, infraID string) awsx.Tags {
		return awsx.OwnedTags(awsx.Tags{"team": owner}, owner, role, infraID, "name")
	}
	want := of("uid-2", "worker", "demo-x")
	for name, c := range map[string]struct {
		have awsx.Tags
		want bool
	}{
		"what an earlier control plane of the cluster had": {of("uid-1", "worker", "demo-x"), true},
		"what is for something else":                       {of("uid-1", "endpoint", "demo-x"), false},
		"another cluster's":                                {of("uid-1", "worker", "demo-y"), false},
		"what another cluster shares": {awsx.Tags{
			awsx.OwnerTag: "uid-1", awsx.RoleTag: "worker", "kubernetes.io/cluster/demo-x": "shared"}, false},
		"what others made for the cluster": {awsx.Tags{"kubernetes.io/cluster/demo-x": "owned", awsx.RoleTag: "worker"}, false},
		"a resource without tags":          {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := want.Inherit(c.have); got != c.want {
				t.Errorf("inherited: %v", got)
			}
		})
	}
}
