package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// drift is a change of a resource in AWS by another party.
type drift struct {
	name  string
	spoil func(context.Context, *connection) error
	right func(context.Context, *connection) error // returns an error until the drift is repaired
}

// connection is the PrivateLink of one cluster in AWS, and clients of both sides.
type connection struct {
	c                    *cluster
	customer, management *ec2.Client
	endpoint             ec2types.VpcEndpoint
	service              ec2types.ServiceConfiguration
	group                ec2types.SecurityGroup
	records              map[string]route53types.ResourceRecordSet
}

// TestDriftIsRepaired makes one change after the other on one cluster.
func TestDriftIsRepaired(t *testing.T) {
	c := newCluster(t, hyperv1.Private)
	c.start()
	c.pool("a", 0)
	c.pool("b", 1)
	subnets := []string{c.customer.Subnets[0].ID, c.customer.Subnets[1].ID}
	whole := func() error { return errors.Join(c.as(hyperv1.Private), c.endpointIn(subnets...)) }
	eventually(t.Context(), t, "the cluster is connected in both zones", whole)

	for _, d := range drifts {
		t.Run(d.name, func(t *testing.T) {
			before, err := c.look(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := d.right(t.Context(), before); err != nil {
				t.Fatalf("before any drift: %v", err)
			}
			if err := d.spoil(t.Context(), before); err != nil {
				t.Fatal(err)
			}
			within(t.Context(), t, repair, "it is repaired", func() error {
				now, err := c.look(t.Context())
				if err != nil {
					return err
				}
				return errors.Join(d.right(t.Context(), now), whole())
			})
		})
	}
}

var drifts = []drift{
	{
		name: "the endpoint is deleted",
		spoil: func(ctx context.Context, n *connection) error {
			_, err := n.customer.DeleteVpcEndpoints(ctx, &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{*n.endpoint.VpcEndpointId}})
			return err
		},
		right: func(context.Context, *connection) error { return nil },
	},
	{
		name: "the endpoint loses a subnet",
		spoil: func(ctx context.Context, n *connection) error {
			_, err := n.customer.ModifyVpcEndpoint(ctx, &ec2.ModifyVpcEndpointInput{VpcEndpointId: n.endpoint.VpcEndpointId, RemoveSubnetIds: n.endpoint.SubnetIds[:1]})
			return err
		},
		right: func(_ context.Context, n *connection) error {
			return n.c.endpointIn(n.c.customer.Subnets[0].ID, n.c.customer.Subnets[1].ID)
		},
	},
	{
		name: "the endpoint loses its tags",
		spoil: func(ctx context.Context, n *connection) error {
			return untag(ctx, n.customer, *n.endpoint.VpcEndpointId, "team")
		},
		right: func(_ context.Context, n *connection) error { return tagged(n.endpoint.Tags, "team", "example") },
	},
	{
		name: "the security group loses a rule",
		spoil: func(ctx context.Context, n *connection) error {
			_, err := n.customer.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: n.group.GroupId, IpPermissions: n.group.IpPermissions[:1]})
			return err
		},
		right: func(_ context.Context, n *connection) error {
			if !allows(n.group, n.c.customer.CIDR) {
				return fmt.Errorf("security group %s does not let %s in", *n.group.GroupId, n.c.customer.CIDR)
			}
			return nil
		},
	},
	{
		name: "the security group gains a rule for everybody",
		spoil: func(ctx context.Context, n *connection) error {
			_, err := n.customer.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: n.group.GroupId, IpPermissions: []ec2types.IpPermission{{
				IpProtocol: aws.String("tcp"), FromPort: aws.Int32(22), ToPort: aws.Int32(22), IpRanges: []ec2types.IpRange{{CidrIp: aws.String("0.0.0.0/0")}},
			}}})
			return err
		},
		right: func(_ context.Context, n *connection) error {
			if allows(n.group, "0.0.0.0/0") {
				return fmt.Errorf("security group %s lets everybody in", *n.group.GroupId)
			}
			return nil
		},
	},
	{
		name: "a record is deleted",
		spoil: func(ctx context.Context, n *connection) error {
			return n.changeRecord(ctx, route53types.ChangeActionDelete, "")
		},
		right: pointsToEndpoint,
	},
	{
		name: "a record points elsewhere",
		spoil: func(ctx context.Context, n *connection) error {
			return n.changeRecord(ctx, route53types.ChangeActionUpsert, "elsewhere.example.test")
		},
		right: pointsToEndpoint,
	},
	{
		name: "the endpoint service loses its principal",
		spoil: func(ctx context.Context, n *connection) error {
			_, err := n.management.ModifyVpcEndpointServicePermissions(ctx, &ec2.ModifyVpcEndpointServicePermissionsInput{
				ServiceId: n.service.ServiceId, RemoveAllowedPrincipals: []string{n.c.customer.Role},
			})
			return err
		},
		right: func(ctx context.Context, n *connection) error {
			out, err := n.management.DescribeVpcEndpointServicePermissions(ctx, &ec2.DescribeVpcEndpointServicePermissionsInput{ServiceId: n.service.ServiceId})
			if err != nil {
				return err
			}
			if len(out.AllowedPrincipals) != 1 || aws.ToString(out.AllowedPrincipals[0].Principal) != n.c.customer.Role {
				return fmt.Errorf("the endpoint service allows %d principals, not just %s", len(out.AllowedPrincipals), n.c.customer.Role)
			}
			return nil
		},
	},
	{
		name: "the endpoint service asks for acceptance",
		spoil: func(ctx context.Context, n *connection) error {
			_, err := n.management.ModifyVpcEndpointServiceConfiguration(ctx, &ec2.ModifyVpcEndpointServiceConfigurationInput{ServiceId: n.service.ServiceId, AcceptanceRequired: aws.Bool(true)})
			return err
		},
		right: func(_ context.Context, n *connection) error {
			if aws.ToBool(n.service.AcceptanceRequired) {
				return errors.New("the endpoint service asks for acceptance")
			}
			return nil
		},
	},
	{
		name: "the endpoint service loses its tags",
		spoil: func(ctx context.Context, n *connection) error {
			return untag(ctx, n.management, *n.service.ServiceId, "team")
		},
		right: func(_ context.Context, n *connection) error { return tagged(n.service.Tags, "team", "example") },
	},
}

// look reads everything about the connection from AWS.
func (c *cluster) look(ctx context.Context) (*connection, error) {
	n := &connection{c: c, customer: c.ec2(), management: ec2.NewFromConfig(on.AWS.Config(on.Management.Account))}
	services := c.endpointServices()
	if len(services) != 1 {
		return nil, fmt.Errorf("there are %d AWSEndpointServices, not 1", len(services))
	}
	var err error
	if n.endpoint, err = c.endpoint(); err != nil {
		return nil, err
	}
	if n.records, err = c.records(ctx); err != nil {
		return nil, err
	}
	configurations, err := n.management.DescribeVpcEndpointServiceConfigurations(ctx, &ec2.DescribeVpcEndpointServiceConfigurationsInput{})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(configurations.ServiceConfigurations, func(s ec2types.ServiceConfiguration) bool {
		return aws.ToString(s.ServiceName) == services[0].Status.EndpointServiceName
	})
	if i < 0 {
		return nil, fmt.Errorf("there is no endpoint service %q", services[0].Status.EndpointServiceName)
	}
	n.service = configurations.ServiceConfigurations[i]
	if len(n.endpoint.Groups) != 1 {
		return nil, fmt.Errorf("the endpoint has %d security groups, not 1", len(n.endpoint.Groups))
	}
	groups, err := n.customer.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{*n.endpoint.Groups[0].GroupId}})
	if err != nil {
		return nil, err
	}
	n.group = groups.SecurityGroups[0]
	return n, nil
}

// api is the record by which workers resolve the API server.
func (n *connection) api() (route53types.ResourceRecordSet, error) {
	name := "api." + n.c.customer.LocalZone
	r, ok := n.records[name]
	if !ok {
		return r, fmt.Errorf("there is no record %s", name)
	}
	return r, nil
}

func (n *connection) changeRecord(ctx context.Context, action route53types.ChangeAction, value string) error {
	r, err := n.api()
	if err != nil {
		return err
	}
	if value != "" {
		r.ResourceRecords = []route53types.ResourceRecord{{Value: &value}}
	}
	_, err = n.c.route53().ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &n.c.customer.LocalZoneID,
		ChangeBatch:  &route53types.ChangeBatch{Changes: []route53types.Change{{Action: action, ResourceRecordSet: &r}}},
	})
	return err
}

func pointsToEndpoint(_ context.Context, n *connection) error {
	r, err := n.api()
	if err != nil {
		return err
	}
	for _, value := range r.ResourceRecords {
		for _, entry := range n.endpoint.DnsEntries {
			if aws.ToString(value.Value) == aws.ToString(entry.DnsName) {
				return nil
			}
		}
	}
	return fmt.Errorf("record %s does not point to the endpoint", *r.Name)
}

func allows(group ec2types.SecurityGroup, cidr string) bool {
	return slices.ContainsFunc(group.IpPermissions, func(p ec2types.IpPermission) bool {
		return slices.ContainsFunc(p.IpRanges, func(r ec2types.IpRange) bool { return aws.ToString(r.CidrIp) == cidr })
	})
}

func tagged(tags []ec2types.Tag, key, value string) error {
	for _, tag := range tags {
		if aws.ToString(tag.Key) == key && aws.ToString(tag.Value) == value {
			return nil
		}
	}
	return fmt.Errorf("there is no tag %s=%s", key, value)
}

func untag(ctx context.Context, client *ec2.Client, id, key string) error {
	_, err := client.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: []string{id}, Tags: []ec2types.Tag{{Key: &key}}})
	return err
}
