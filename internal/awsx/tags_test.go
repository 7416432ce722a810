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
		"a resource of the cluster's earlier control plane is inherited": {of("uid-1", "worker", "demo-x"), true},
		"a resource with another role is not inherited":                  {of("uid-1", "endpoint", "demo-x"), false},
		"a resource of another cluster is not inherited":                 {of("uid-1", "worker", "demo-y"), false},
		"a resource that the cluster only shares is not inherited": {awsx.Tags{
			awsx.OwnerTag: "uid-1", awsx.RoleTag: "worker", "kubernetes.io/cluster/demo-x": "shared"}, false},
		"a resource without an owner tag is not inherited": {awsx.Tags{"kubernetes.io/cluster/demo-x": "owned", awsx.RoleTag: "worker"}, false},
		"a resource without tags is not inherited":         {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := want.Inherit(c.have); got != c.want {
				t.Errorf("inherited: %v", got)
			}
		})
	}
}
