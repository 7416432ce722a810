package machine

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

func (c *Client) instance(m Machine) *rg.Node {
	tags := c.owner.All(m.Name, nil)
	n := &rg.Node{
		ID: m.Node, Kind: "Instance", Name: m.Name, ReadsAlone: true, Repeatable: true,
		DependsOn: slices.Concat(m.Place, []string{m.GroupNode}, m.DependsOn),
		Desired: func(ids rg.IDs) rg.Attributes {
			attributes := rg.Attributes{
				"subnet": m.Subnet(ids), "instance-type": m.Type, "state": string(types.InstanceStateNameRunning),
				"metadata-tokens": string(types.HttpTokensStateRequired), "security-groups": ids(m.GroupNode),
			}
			if m.Address != "" {
				attributes["address"] = m.Address
			}
			maps.Copy(attributes, m.Attributes)
			return awsgraph.WithTags(attributes, tags)
		},
		Immutable: append([]string{"subnet", "instance-type", "address"}, slices.Sorted(maps.Keys(m.Attributes))...),
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			return c.readInstance(ctx, m, l)
		},
		Create: func(ctx context.Context, creation rg.Creation) (rg.Observed, error) {
			return c.launch(ctx, m, creation)
		},
		Update: func(ctx context.Context, u rg.Update) error { return c.updateInstance(ctx, m, u) },
	}
	if len(m.Ingress) > 0 {
		n.DependsOn = append(n.DependsOn, m.group().IngressNode())
	}
	return n
}

func (c *Client) readInstance(ctx context.Context, m Machine, l rg.Lookup) (rg.Observed, error) {
	all, err := c.Instances(ctx, m.Name)
	if err != nil {
		return rg.Observed{}, err
	}
	i, ok := awsgraph.Pick(all, l.ID, instanceID, func(i types.Instance) bool { return !ended(i) })
	if ok {
		return c.observe(ctx, m, i)
	}
	// An instance that cannot start, such as for a key of its volume, is gone before it runs. The next run launches another.
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range all {
		if launched := c.launched[m.Name]; launched != "" && instanceID(i) == launched && i.StateReason != nil {
			return rg.Observed{}, fmt.Errorf("instance %s did not start: %s", launched, aws.ToString(i.StateReason.Message))
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

// Terminated reports whether the instance is gone. AWS lists it for an hour.
func Terminated(i types.Instance) bool { return state(i) == types.InstanceStateNameTerminated }

func ended(i types.Instance) bool {
	return state(i) == types.InstanceStateNameShuttingDown || Terminated(i)
}

func (c *Client) observe(ctx context.Context, m Machine, i types.Instance) (rg.Observed, error) {
	attributes := rg.Attributes{
		"subnet": aws.ToString(i.SubnetId), "instance-type": string(i.InstanceType), "state": string(state(i)), "address": aws.ToString(i.PrivateIpAddress),
	}
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
	if m.Observe != nil {
		data, err := c.userData(ctx, instanceID(i))
		if awsx.IsNotFound(err) {
			return rg.Observed{}, nil
		}
		if err != nil {
			return rg.Observed{}, err
		}
		maps.Copy(attributes, m.Observe(data))
	}
	o.Attributes = awsgraph.WithTags(attributes, ec2util.Tags(i.Tags))
	return o, nil
}

func (c *Client) userData(ctx context.Context, id string) (string, error) {
	answer, err := c.ec2.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{InstanceId: aws.String(id), Attribute: types.InstanceAttributeNameUserData})
	if err != nil {
		return "", fmt.Errorf("reading the user data of %s: %w", id, err)
	}
	if answer.UserData == nil {
		return "", nil
	}
	text, err := base64.StdEncoding.DecodeString(aws.ToString(answer.UserData.Value))
	if err != nil {
		return "", fmt.Errorf("decoding the user data of %s: %w", id, err)
	}
	return string(text), nil
}

func (c *Client) launch(ctx context.Context, m Machine, creation rg.Creation) (rg.Observed, error) {
	tags := c.owner.All(m.Name, nil)
	var specifications []types.TagSpecification
	for _, kind := range []types.ResourceType{types.ResourceTypeInstance, types.ResourceTypeNetworkInterface, types.ResourceTypeVolume} {
		specifications = append(specifications, ec2util.TagsOnCreate(kind, tags)...)
	}
	in := &ec2.RunInstancesInput{
		ClientToken: aws.String(creation.Token), MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		ImageId: aws.String(m.image()), InstanceType: types.InstanceType(m.Type),
		MetadataOptions: &types.InstanceMetadataOptionsRequest{
			HttpEndpoint: types.InstanceMetadataEndpointStateEnabled, HttpTokens: types.HttpTokensStateRequired, HttpPutResponseHopLimit: aws.Int32(metadataHops),
		},
		BlockDeviceMappings: []types.BlockDeviceMapping{{DeviceName: aws.String(rootDevice), Ebs: &types.EbsBlockDevice{
			DeleteOnTermination: aws.Bool(true), Encrypted: aws.Bool(true), VolumeSize: aws.Int32(rootSize), VolumeType: rootType,
		}}},
		NetworkInterfaces: []types.InstanceNetworkInterfaceSpecification{{
			DeviceIndex: aws.Int32(0), SubnetId: aws.String(m.Subnet(creation.IDs)), Groups: []string{creation.IDs(m.GroupNode)},
			AssociatePublicIpAddress: aws.Bool(m.PublicAddress), DeleteOnTermination: aws.Bool(true),
		}},
		TagSpecifications: specifications,
	}
	if m.Address != "" {
		in.NetworkInterfaces[0].PrivateIpAddress = aws.String(m.Address)
	}
	if m.Profile != "" {
		in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: aws.String(m.Profile)}
	}
	if m.UserData != nil {
		data, err := m.UserData()
		if err != nil {
			return rg.Observed{}, err
		}
		in.UserData = aws.String(base64.StdEncoding.EncodeToString([]byte(data)))
	}
	launched, err := c.writer.RunInstances(ctx, in)
	if awsx.Code(err) == "IdempotentParameterMismatch" && m.UserData != nil {
		// An earlier run has launched the instance with this token, and with other keys in its user data.
		return rg.Observed{}, &awsgraph.ExistsError{Err: err}
	}
	if err != nil {
		return rg.Observed{}, err
	}
	i := launched.Instances[0]
	c.mu.Lock()
	defer c.mu.Unlock()
	c.launched[m.Name] = instanceID(i)
	return rg.Observed{ID: instanceID(i), Pending: "state pending"}, nil
}

func (c *Client) updateInstance(ctx context.Context, m Machine, u rg.Update) error {
	id := u.Observed.ID
	if awsgraph.Changed(u.Changes, "metadata-tokens") {
		_, err := c.writer.ModifyInstanceMetadataOptions(ctx, &ec2.ModifyInstanceMetadataOptionsInput{InstanceId: aws.String(id), HttpTokens: types.HttpTokensStateRequired})
		if err != nil {
			return err
		}
	}
	if awsgraph.Changed(u.Changes, "security-groups") {
		_, err := c.writer.ModifyInstanceAttribute(ctx, &ec2.ModifyInstanceAttributeInput{InstanceId: aws.String(id), Groups: []string{u.IDs(m.GroupNode)}})
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
