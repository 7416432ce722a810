package bastion

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
	"github.com/hosted-control-planes/hypershift/internal/awsx/iamrole"
	"github.com/hosted-control-planes/hypershift/internal/names"
	rg "github.com/hosted-control-planes/hypershift/internal/resourcegraph"
)

// Nodes of the graph. Instance is that of the result.
const (
	role          = "role/bastion"
	profile       = "instance-profile"
	profileRole   = "profile-role"
	securityGroup = "security-group"
	Instance      = "instance"
)

// Cloud is an account and region, with the bastion of one cluster.
type Cloud struct {
	owner awsgraph.Owner
	iam   *iamrole.Client
	ec2   *ec2.Client
	// writer makes one attempt. The engine decides about the next one.
	writer *ec2.Client

	mu sync.Mutex
	// launched is the instance that this process has launched.
	launched string
}

// NewCloud returns the account of cfg for the cluster of the owner.
func NewCloud(cfg aws.Config, owner awsgraph.Owner) *Cloud {
	writing := cfg.Copy()
	writing.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	return &Cloud{owner: owner, iam: iamrole.New(cfg, owner), ec2: ec2.NewFromConfig(cfg), writer: ec2.NewFromConfig(writing)}
}

func (c *Cloud) name() string { return names.Bastion(c.owner.InfraID) }

func (c *Cloud) owned() []types.Filter {
	return []types.Filter{filter("tag:"+c.owner.Tag(), names.ClusterTagValue)}
}

func filter(name string, values ...string) types.Filter {
	return types.Filter{Name: aws.String(name), Values: values}
}

// policy is what the agent needs for sessions. AmazonSSMManagedInstanceCore, the policy of AWS, also allows to read all parameters of
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

// Graph returns the graph of the spec.
func (c *Cloud) Graph(s Spec, p Place) (*rg.Graph, error) {
	name := c.name()
	return rg.New(
		c.iam.Role(iamrole.Role{ID: role, Name: name, Trust: iamrole.TrustEC2()}),
		c.iam.Policy(iamrole.Policy{ID: "policy/bastion", Name: name, RoleID: role, RoleName: name, Document: func(rg.IDs) (string, error) { return policy(), nil }}),
		c.iam.Profile(profile, name),
		c.iam.ProfileRole(iamrole.ProfileRole{ID: profileRole, ProfileID: profile, ProfileName: name, RoleID: role, RoleName: name}),
		c.group(p), c.instance(s, p))
}

// noIngress is the attribute of a group that lets nothing in.
const noIngress = "none"

func (c *Cloud) group(p Place) *rg.Node {
	name := c.name()
	tags := c.owner.All(name, nil)
	return &rg.Node{
		// The name is unique in the VPC.
		ID: securityGroup, Kind: "Security group", Name: name, ReadsAlone: true, Repeatable: true,
		Desired: func(rg.IDs) rg.Attributes {
			return awsgraph.WithTags(rg.Attributes{"vpc": p.VPC, "ingress": noIngress}, tags)
		},
		Immutable: []string{"vpc"},
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			all, err := c.groups(ctx)
			if err != nil {
				return rg.Observed{}, err
			}
			g, ok := awsgraph.Pick(all, l.ID, groupID, func(types.SecurityGroup) bool { return true })
			if !ok {
				return rg.Observed{}, nil
			}
			return rg.Observed{ID: groupID(g), Attributes: awsgraph.WithTags(rg.Attributes{"vpc": aws.ToString(g.VpcId), "ingress": ingress(g)}, ec2util.Tags(g.Tags))}, nil
		},
		Create: func(ctx context.Context, _ rg.Creation) (rg.Observed, error) {
			made, err := c.writer.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
				GroupName: aws.String(name), Description: aws.String("Bastion: nothing may connect to it"), VpcId: aws.String(p.VPC),
				TagSpecifications: ec2util.TagsOnCreate(types.ResourceTypeSecurityGroup, tags),
			})
			if err != nil {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: aws.ToString(made.GroupId)}, nil
		},
		Update: func(ctx context.Context, u rg.Update) error {
			if awsgraph.Changed(u.Changes, "ingress") {
				if err := c.closeGroup(ctx, u.Observed.ID); err != nil {
					return err
				}
			}
			return c.updateTags(ctx, u)
		},
	}
}

func groupID(g types.SecurityGroup) string { return aws.ToString(g.GroupId) }

// groups returns the group of the bastion, in each VPC.
func (c *Cloud) groups(ctx context.Context) (all []types.SecurityGroup, _ error) {
	in := &ec2.DescribeSecurityGroupsInput{Filters: append(c.owned(), filter("group-name", c.name()))}
	for pages := ec2.NewDescribeSecurityGroupsPaginator(c.ec2, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing security groups: %w", err)
		}
		all = append(all, page.SecurityGroups...)
	}
	return all, nil
}

// ingress describes what a group lets in.
func ingress(g types.SecurityGroup) string {
	var open []string
	for _, p := range g.IpPermissions {
		rule := aws.ToString(p.IpProtocol)
		if p.FromPort != nil {
			rule += fmt.Sprintf(" %d-%d", *p.FromPort, aws.ToInt32(p.ToPort))
		}
		open = append(open, rule)
	}
	if len(open) == 0 {
		return noIngress
	}
	slices.Sort(open)
	return strings.Join(open, ", ")
}

// closeGroup revokes what was allowed by hand.
func (c *Cloud) closeGroup(ctx context.Context, id string) error {
	now, err := c.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
	if err != nil {
		return err
	}
	for _, g := range now.SecurityGroups {
		if len(g.IpPermissions) == 0 {
			continue
		}
		if _, err := c.writer.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: g.GroupId, IpPermissions: g.IpPermissions}); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cloud) updateTags(ctx context.Context, u rg.Update) error {
	_, err := ec2util.EnsureTags(ctx, c.writer, u.Observed.ID, awsgraph.ChangedTags(u.Changes), nil)
	return err
}

func (c *Cloud) instance(s Spec, p Place) *rg.Node {
	name := c.name()
	tags := c.owner.All(name, nil)
	return &rg.Node{
		ID: Instance, Kind: "Instance", Name: name, ReadsAlone: true, Repeatable: true,
		// A role without its policy could not connect, and the agent waits for hours after a refusal.
		DependsOn: []string{securityGroup, profileRole, "policy/bastion"},
		Desired: func(ids rg.IDs) rg.Attributes {
			return awsgraph.WithTags(rg.Attributes{
				"subnet": p.Subnet, "instance-type": s.instanceType(), "state": string(types.InstanceStateNameRunning),
				"metadata-tokens": string(types.HttpTokensStateRequired), "security-groups": ids(securityGroup),
			}, tags)
		},
		Immutable: []string{"subnet", "instance-type"},
		Read:      c.readInstance,
		Create: func(ctx context.Context, creation rg.Creation) (rg.Observed, error) {
			return c.launch(ctx, s, p, creation)
		},
		Update: c.updateInstance,
	}
}

func (c *Cloud) readInstance(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
	all, err := c.instances(ctx)
	if err != nil {
		return rg.Observed{}, err
	}
	i, ok := awsgraph.Pick(all, l.ID, instanceID, func(i types.Instance) bool { return !ended(i) })
	if ok {
		return observe(i), nil
	}
	// An instance that cannot start, such as for a key of its volume, is gone before it runs. The next run launches another.
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range all {
		if c.launched != "" && instanceID(i) == c.launched && i.StateReason != nil {
			return rg.Observed{}, fmt.Errorf("instance %s did not start: %s", c.launched, aws.ToString(i.StateReason.Message))
		}
	}
	return rg.Observed{}, nil
}

func instanceID(i types.Instance) string { return aws.ToString(i.InstanceId) }

func state(i types.Instance) types.InstanceStateName {
	if i.State == nil {
		return ""
	}
	return i.State.Name
}

func ended(i types.Instance) bool {
	return state(i) == types.InstanceStateNameShuttingDown || state(i) == types.InstanceStateNameTerminated
}

// instances returns the instances of the bastion, also those that have ended.
func (c *Cloud) instances(ctx context.Context) (all []types.Instance, _ error) {
	in := &ec2.DescribeInstancesInput{Filters: append(c.owned(), filter("tag:"+awsx.NameTag, c.name()))}
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

func observe(i types.Instance) rg.Observed {
	attributes := rg.Attributes{"subnet": aws.ToString(i.SubnetId), "instance-type": string(i.InstanceType), "state": string(state(i))}
	o := rg.Observed{ID: instanceID(i)}
	if state(i) == types.InstanceStateNamePending {
		o.Pending = "state pending"
		attributes["state"] = string(types.InstanceStateNameRunning)
	}
	if i.MetadataOptions != nil {
		attributes["metadata-tokens"] = string(i.MetadataOptions.HttpTokens)
	}
	var groups []string
	for _, g := range i.SecurityGroups {
		groups = append(groups, aws.ToString(g.GroupId))
	}
	slices.Sort(groups)
	attributes["security-groups"] = strings.Join(groups, ",")
	o.Attributes = awsgraph.WithTags(attributes, ec2util.Tags(i.Tags))
	return o
}

func (c *Cloud) launch(ctx context.Context, s Spec, p Place, creation rg.Creation) (rg.Observed, error) {
	tags := c.owner.All(c.name(), nil)
	var specifications []types.TagSpecification
	for _, kind := range []types.ResourceType{types.ResourceTypeInstance, types.ResourceTypeNetworkInterface, types.ResourceTypeVolume} {
		specifications = append(specifications, ec2util.TagsOnCreate(kind, tags)...)
	}
	made, err := c.writer.RunInstances(ctx, &ec2.RunInstancesInput{
		ClientToken: aws.String(creation.Token), MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		ImageId: aws.String(s.image()), InstanceType: types.InstanceType(s.instanceType()),
		IamInstanceProfile: &types.IamInstanceProfileSpecification{Name: aws.String(c.name())},
		MetadataOptions: &types.InstanceMetadataOptionsRequest{
			HttpEndpoint: types.InstanceMetadataEndpointStateEnabled, HttpTokens: types.HttpTokensStateRequired, HttpPutResponseHopLimit: aws.Int32(1),
		},
		BlockDeviceMappings: []types.BlockDeviceMapping{{DeviceName: aws.String(rootDevice), Ebs: &types.EbsBlockDevice{
			DeleteOnTermination: aws.Bool(true), Encrypted: aws.Bool(true), VolumeSize: aws.Int32(rootSize), VolumeType: types.VolumeTypeGp3,
		}}},
		NetworkInterfaces: []types.InstanceNetworkInterfaceSpecification{{
			DeviceIndex: aws.Int32(0), SubnetId: aws.String(p.Subnet), Groups: []string{creation.IDs(securityGroup)},
			AssociatePublicIpAddress: aws.Bool(p.PublicAddress), DeleteOnTermination: aws.Bool(true),
		}},
		TagSpecifications: specifications,
	})
	if err != nil {
		return rg.Observed{}, err
	}
	i := made.Instances[0]
	c.mu.Lock()
	defer c.mu.Unlock()
	c.launched = instanceID(i)
	o := rg.Observed{ID: instanceID(i), Pending: "state pending"}
	return o, nil
}

func (c *Cloud) updateInstance(ctx context.Context, u rg.Update) error {
	id := u.Observed.ID
	if awsgraph.Changed(u.Changes, "metadata-tokens") {
		_, err := c.writer.ModifyInstanceMetadataOptions(ctx, &ec2.ModifyInstanceMetadataOptionsInput{InstanceId: aws.String(id), HttpTokens: types.HttpTokensStateRequired})
		if err != nil {
			return err
		}
	}
	if awsgraph.Changed(u.Changes, "security-groups") {
		_, err := c.writer.ModifyInstanceAttribute(ctx, &ec2.ModifyInstanceAttributeInput{InstanceId: aws.String(id), Groups: []string{u.IDs(securityGroup)}})
		if err != nil {
			return err
		}
	}
	if awsgraph.Changed(u.Changes, "state") {
		if _, err := c.writer.StartInstances(ctx, &ec2.StartInstancesInput{InstanceIds: []string{id}}); err != nil {
			return err
		}
	}
	return c.updateTags(ctx, u)
}
