package bastion

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/iamrole"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/machine"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Nodes of the graph. The result contains the Instance.
const (
	role          = "role/bastion"
	policyNode    = "policy/bastion"
	profile       = "instance-profile"
	profileRole   = "profile-role"
	securityGroup = "security-group"
	Instance      = "instance"
)

// Cloud is an account and region, with the bastion of one cluster.
type Cloud struct {
	owner    awsgraph.Owner
	iam      *iamrole.Client
	machines *machine.Client
	ec2      *ec2.Client
	// writer makes one attempt. The engine decides about the next one.
	writer *ec2.Client
}

// NewCloud returns the account of cfg for the cluster of the owner.
func NewCloud(cfg aws.Config, owner awsgraph.Owner) *Cloud {
	writing := cfg.Copy()
	writing.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	return &Cloud{
		owner: owner, iam: iamrole.New(cfg, owner), machines: machine.New(cfg, owner),
		ec2: ec2.NewFromConfig(cfg), writer: ec2.NewFromConfig(writing),
	}
}

func (c *Cloud) name() string { return names.Bastion(c.owner.InfraID) }

func (c *Cloud) owned() []types.Filter {
	return []types.Filter{filter("tag:"+c.owner.Tag(), names.ClusterTagValue)}
}

func filter(name string, values ...string) types.Filter {
	return types.Filter{Name: aws.String(name), Values: values}
}

// policy allows the agent's calls for sessions. AmazonSSMManagedInstanceCore, the policy of AWS, also allows to read all parameters of
// the account.
func policy() string {
	return iamrole.Document(map[string]any{
		"Effect": "Allow", "Resource": "*",
		"Action": []any{
			"ssm:UpdateInstanceInformation",
			"ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel", "ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel",
		},
	})
}

// Nodes returns the nodes of the spec.
func (c *Cloud) Nodes(s Spec, p Place) []*rg.Node {
	name := c.name()
	nodes := []*rg.Node{
		c.iam.Role(iamrole.Role{ID: role, Name: name, Trust: iamrole.TrustEC2()}),
		c.iam.Policy(iamrole.Policy{ID: policyNode, Name: name, RoleID: role, RoleName: name, Document: func(rg.IDs) (string, error) { return policy(), nil }}),
		c.iam.Profile(profile, name),
		c.iam.ProfileRole(iamrole.ProfileRole{ID: profileRole, ProfileID: profile, ProfileName: name, RoleID: role, RoleName: name}),
	}
	return append(nodes, c.machines.Nodes(machine.Machine{
		Node: Instance, GroupNode: securityGroup, Name: name, GroupName: name, GroupDescription: "Bastion: nothing may connect to it",
		VPC: func(rg.IDs) string { return p.VPC }, Subnet: func(rg.IDs) string { return p.Subnet },
		// A role without its policy could not connect, and the agent waits for hours after a refusal.
		DependsOn: []string{profileRole, policyNode},
		Arch:      s.Arch, Type: s.instanceType(), Profile: name, PublicAddress: p.PublicAddress,
	})...)
}
