package nodeaccess

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestEvaluate(t *testing.T) {
	machines := []clusterv1.Machine{{}}
	former := &hyperv1.NodeAccessRecord{InUse: hyperv1.PublicAndPrivate, Tunnels: hyperv1.Public}
	for name, c := range map[string]struct {
		facts          Facts
		served         hyperv1.AWSEndpointAccessType // spec if empty
		inUse, tunnels hyperv1.AWSEndpointAccessType
		reason         string // empty: the condition stays as it is
	}{
		"nothing has changed":                     {facts: Facts{UpToDate: true}, inUse: hyperv1.Private, tunnels: hyperv1.Private, reason: hyperv1.AsExpectedReason},
		"there are no machines":                   {inUse: hyperv1.Private, tunnels: hyperv1.Private, reason: hyperv1.AsExpectedReason},
		"there are none, the former path remains": {served: hyperv1.PublicAndPrivate, inUse: hyperv1.Private, tunnels: hyperv1.Private, reason: hyperv1.RemovingFormerAccessReason},
		"nodes are not read yet":                  {facts: Facts{Machines: machines}, inUse: hyperv1.PublicAndPrivate, tunnels: hyperv1.Public, reason: hyperv1.MachinesBehindReason},
		"the new address is unknown":              {facts: Facts{Machines: machines, Nodes: &Nodes{AddressUnknown: true}}, inUse: hyperv1.PublicAndPrivate, tunnels: hyperv1.Public, reason: hyperv1.MachinesBehindReason},
		"a machine is behind":                     {facts: Facts{Machines: machines, Nodes: &Nodes{Behind: []string{"a"}}}, inUse: hyperv1.PublicAndPrivate, tunnels: hyperv1.Public, reason: hyperv1.MachinesBehindReason},
		"the tunnels are behind":                  {facts: Facts{Machines: machines, Nodes: &Nodes{Tunnels: "agents"}}, inUse: hyperv1.PublicAndPrivate, tunnels: hyperv1.Private, reason: hyperv1.TunnelsBehindReason},
		"machines and tunnels use the new path":   {facts: Facts{Machines: machines, Nodes: &Nodes{}}, inUse: hyperv1.Private, tunnels: hyperv1.Private, reason: hyperv1.AsExpectedReason},
		"they do, and the former path is removed": {facts: Facts{Machines: machines, Nodes: &Nodes{}}, served: hyperv1.PublicAndPrivate, inUse: hyperv1.Private, tunnels: hyperv1.Private, reason: hyperv1.RemovingFormerAccessReason},
	} {
		t.Run(name, func(t *testing.T) {
			hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "demo", Generation: 2}}
			hcp.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{EndpointAccess: hyperv1.Private}}
			hcp.Status.NodeAccess = former
			if c.served != "" {
				hcp.Status.ServedEndpointAccess = c.served
			}
			if record := c.facts.Record(hcp); record.InUse != c.inUse || record.Tunnels != c.tunnels {
				t.Errorf("recorded %+v, want %s, tunnels %s", record, c.inUse, c.tunnels)
			}
			condition, changes := c.facts.Condition(hcp)
			if condition.Reason != c.reason || !changes {
				t.Errorf("got %+v (changes: %v), want reason %s", condition, changes, c.reason)
			}
			if (condition.Status == metav1.ConditionTrue) != (c.reason == hyperv1.AsExpectedReason) {
				t.Errorf("status %s", condition.Status)
			}
		})
	}
}

// A verdict from the nodes is not replaced by the wait for an API server that does not respond for a moment.
func TestAVerdictStaysUntilNodesAreReadAgain(t *testing.T) {
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "demo", Generation: 2}}
	hcp.Status.Conditions = []metav1.Condition{{Type: hyperv1.EndpointAccessUpToDate, Status: metav1.ConditionFalse, Reason: hyperv1.TunnelsBehindReason, ObservedGeneration: 2}}
	facts := Facts{Machines: []clusterv1.Machine{{}}}
	if c, changes := facts.Condition(hcp); changes {
		t.Errorf("it becomes %+v", c)
	}
	hcp.Generation = 3
	if c, changes := facts.Condition(hcp); !changes || c.Reason != hyperv1.MachinesBehindReason {
		t.Errorf("after another change of spec: %+v (changes: %v)", c, changes)
	}
}
