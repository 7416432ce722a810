package machine

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/groupnode"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// Machine is a machine that a user requests.
type Machine struct {
	// Node and GroupNode are the ids of the nodes of the instance and of its group. Package groupnode names the node of the rules.
	Node, GroupNode string
	// Name is the name of the instance, and GroupName the name of the group.
	Name, GroupName, GroupDescription string
	// VPC and Subnet return where the machine is. GroupPlace are the nodes with the ids that VPC uses, and Place the nodes that Subnet uses.
	VPC, Subnet       func(rg.IDs) string
	GroupPlace, Place []string
	// DependsOn are other nodes that exist before the instance is launched.
	DependsOn []string
	// Ingress are the rules of the group. Without rules, no connection is allowed.
	Ingress []securitygroup.Rule

	// Arch is amd64 or arm64.
	Arch, Type string
	// Profile is the name of the instance profile; empty for none.
	Profile string
	// Address is the private address; empty for any.
	Address string
	// PublicAddress gives the machine a public address, too.
	PublicAddress bool
	// UserData returns the script that the instance runs at its first start. Nil: no script.
	UserData func() (string, error)
	// Observe returns attributes of the user data of an instance that exists. They are compared with Attributes, and cannot be changed.
	Observe    func(userData string) rg.Attributes
	Attributes rg.Attributes
}

// images are the parameters of Systems Manager in which AWS publishes the newest image of Amazon Linux 2023.
var images = map[string]string{
	"amd64": "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64",
	"arm64": "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64",
}

// The root volume of these images has this name. They need 8 GiB.
const (
	rootDevice = "/dev/xvda"
	rootSize   = 16
	rootType   = types.VolumeTypeGp3
)

// metadataHops: pods and containers do not reach the metadata of the instance.
const metadataHops = 1

// Architectures are the supported values of Machine.Arch.
func Architectures() []string { return []string{"amd64", "arm64"} }

// image lets EC2 read the parameter, which needs ssm:GetParameters.
func (m Machine) image() string { return "resolve:ssm:" + images[m.Arch] }

// Client is an account and region, with the machines of one cluster.
type Client struct {
	owner awsgraph.Owner
	ec2   *ec2.Client
	// writer makes one attempt. The engine decides about the next one.
	writer *ec2.Client

	mu sync.Mutex
	// launched are the instances that this process has launched, by name.
	launched map[string]string
}

// New returns the account of cfg for the cluster of the owner.
func New(cfg aws.Config, owner awsgraph.Owner) *Client {
	writing := cfg.Copy()
	writing.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	return &Client{owner: owner, ec2: ec2.NewFromConfig(cfg), writer: ec2.NewFromConfig(writing), launched: map[string]string{}}
}

// Nodes returns the nodes of a machine: its group, the rules of the group if there are any, and its instance.
func (c *Client) Nodes(m Machine) []*rg.Node {
	return append(c.GroupNodes(m.group()), c.instance(m))
}

func (m Machine) group() groupnode.Group {
	return groupnode.Group{
		ID: m.GroupNode, DependsOn: m.GroupPlace, VPC: m.VPC, Name: m.GroupName,
		Spec: securitygroup.Spec{Description: m.GroupDescription, Rules: m.Ingress},
	}
}

// GroupNodes returns the nodes of a security group.
func (c *Client) GroupNodes(g groupnode.Group) []*rg.Node {
	return groupnode.Client{EC2: c.ec2, Writer: c.writer, Owner: c.owner, Groups: c.Groups}.Nodes(g)
}

// Instances returns the instances of that name, also those that have ended.
func (c *Client) Instances(ctx context.Context, name string) (all []types.Instance, _ error) {
	in := &ec2.DescribeInstancesInput{Filters: append(c.owned(), filter("tag:"+awsx.NameTag, name))}
	for pages := ec2.NewDescribeInstancesPaginator(c.ec2, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing instances: %w", err)
		}
		for _, r := range page.Reservations {
			all = append(all, r.Instances...)
		}
	}
	return all, nil
}

// Groups returns the security groups of that name, in each VPC.
func (c *Client) Groups(ctx context.Context, name string) (all []types.SecurityGroup, _ error) {
	in := &ec2.DescribeSecurityGroupsInput{Filters: append(c.owned(), filter("group-name", name))}
	for pages := ec2.NewDescribeSecurityGroupsPaginator(c.ec2, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing security groups: %w", err)
		}
		all = append(all, page.SecurityGroups...)
	}
	return all, nil
}

func (c *Client) owned() []types.Filter {
	tag := c.owner.All("", nil)[c.owner.Tag()]
	return []types.Filter{filter("tag:"+c.owner.Tag(), tag)}
}

func filter(name string, values ...string) types.Filter {
	return types.Filter{Name: aws.String(name), Values: values}
}

func (c *Client) updateTags(ctx context.Context, u rg.Update) error {
	_, err := ec2util.EnsureTags(ctx, c.writer, u.Observed.ID, awsgraph.ChangedTags(u.Changes), nil)
	return err
}
