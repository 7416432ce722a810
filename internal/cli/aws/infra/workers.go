package infra

import (
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/groupnode"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// workerGroupID returns the id of the security group for nodes, or "".
func (s Spec) workerGroupID(ids rg.IDs) string {
	if !s.WorkerGroup {
		return ""
	}
	return ids(WorkerGroup)
}

func (s Spec) workerGroupName() string { return s.InfraID + "-worker-sg" }

// workerNodes are a security group for nodes and its rules. An instance takes only groups of its own account. Other rules stay: cloud
// controllers add some for load balancers.
func (b builder) workerNodes() []*rg.Node {
	dependsOn := []string{VPC}
	if b.cluster != nil {
		// An account sees a VPC when it sees a subnet.
		dependsOn = append(dependsOn, "shared-"+publicSubnet(b.Zones[0]))
	}
	return b.ofCluster().machines.GroupNodes(groupnode.Group{
		ID: WorkerGroup, DependsOn: dependsOn, VPC: func(ids rg.IDs) string { return ids(VPC) }, Name: b.workerGroupName(),
		Spec: securitygroup.Spec{
			Description: "Workers of " + b.InfraID, Rules: securitygroup.WorkerRules(b.VPCCIDR),
			Leave: func(securitygroup.Foreign) bool { return true },
		},
	})
}
