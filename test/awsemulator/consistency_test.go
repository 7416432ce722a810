package awsemulator_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

func visibility(t *testing.T, d time.Duration) {
	t.Helper()
	must(t, emulator.SetDelays(t.Context(), awsemulator.Delays{"visibility": d}))
	t.Cleanup(func() {
		must(t, emulator.SetDelays(context.WithoutCancel(t.Context()), awsemulator.Delays{"visibility": 0}))
	})
}

// Resources and their tags are found when the delay is over, by id as by tag.
func TestNewResourcesAreFoundLate(t *testing.T) {
	a := newAccount(t)
	visibility(t, time.Hour)
	subnet := a.subnet(t, "10.0.0.0/24", 0)
	gateway, err := a.ec2.CreateInternetGateway(t.Context(), &ec2.CreateInternetGatewayInput{})
	must(t, err)
	table, err := a.ec2.CreateRouteTable(t.Context(), &ec2.CreateRouteTableInput{VpcId: aws.String(a.vpc)})
	must(t, err)
	address, err := a.ec2.AllocateAddress(t.Context(), &ec2.AllocateAddressInput{Domain: types.DomainTypeVpc})
	must(t, err)
	run, err := a.ec2.RunInstances(t.Context(), launch(subnet, a.securityGroup(t, "node")))
	must(t, err)
	instance := run.Instances[0].InstanceId
	look := map[string]func() error{
		"InvalidSubnetID.NotFound": func() error {
			_, err := a.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{SubnetIds: []string{subnet}})
			return err
		},
		"InvalidInternetGatewayID.NotFound": func() error {
			_, err := a.ec2.DescribeInternetGateways(t.Context(), &ec2.DescribeInternetGatewaysInput{InternetGatewayIds: []string{*gateway.InternetGateway.InternetGatewayId}})
			return err
		},
		"InvalidRouteTableID.NotFound": func() error {
			_, err := a.ec2.DescribeRouteTables(t.Context(), &ec2.DescribeRouteTablesInput{RouteTableIds: []string{*table.RouteTable.RouteTableId}})
			return err
		},
		"InvalidAllocationID.NotFound": func() error {
			_, err := a.ec2.DescribeAddresses(t.Context(), &ec2.DescribeAddressesInput{AllocationIds: []string{*address.AllocationId}})
			return err
		},
		"InvalidInstanceID.NotFound": func() error {
			_, err := a.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{*instance}})
			return err
		},
	}
	for code, call := range look {
		refused(t, call(), code)
	}
	found, err := a.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{Filters: []types.Filter{filter("instance-id", *instance)}})
	must(t, err)
	equal(t, "instances by a filter", len(found.Reservations), 0)
	visibility(t, 0)
	for _, call := range look {
		refused(t, call(), "")
	}
}

func TestChangedTagsAreFoundLate(t *testing.T) {
	a := newAccount(t)
	visibility(t, time.Hour)
	_, err := a.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{a.vpc}, Tags: []types.Tag{{Key: aws.String("owner"), Value: aws.String("me")}}})
	must(t, err)
	count := func() int {
		found, err := a.ec2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{Filters: []types.Filter{filter("tag:owner", "me")}})
		must(t, err)
		return len(found.Vpcs)
	}
	equal(t, "VPCs with the tag", count(), 0)
	visibility(t, 0)
	equal(t, "VPCs with the tag later", count(), 1)
}
