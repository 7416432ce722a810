package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// The state of AWS itself: the tests do not rely on the status of our objects alone.

func (c *cluster) ec2() *ec2.Client { return ec2.NewFromConfig(on.AWS.Config(c.customer.Account)) }

func (c *cluster) route53() *route53.Client {
	return route53.NewFromConfig(on.AWS.Config(c.customer.Account))
}

// vpcEndpoints are the endpoints of the customer's account, except for those that are being deleted.
func (c *cluster) vpcEndpoints() ([]ec2types.VpcEndpoint, error) {
	out, err := c.ec2().DescribeVpcEndpoints(c.t.Context(), &ec2.DescribeVpcEndpointsInput{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(out.VpcEndpoints, func(e ec2types.VpcEndpoint) bool { return e.State == "deleting" || e.State == "deleted" }), nil
}

// endpoint is the only endpoint.
func (c *cluster) endpoint() (ec2types.VpcEndpoint, error) {
	all, err := c.vpcEndpoints()
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("there are %d VPC endpoints, want 1", len(all))
	}
	if err != nil {
		return ec2types.VpcEndpoint{}, err
	}
	return all[0], nil
}

// endpoints returns an error unless there are that many endpoints, all available.
func (c *cluster) endpoints(count int) error {
	all, err := c.vpcEndpoints()
	if err != nil {
		return err
	}
	if len(all) != count {
		return fmt.Errorf("there are %d VPC endpoints, not %d", len(all), count)
	}
	for _, e := range all {
		// The API uses lower case, the constants of the SDK do not.
		if !strings.EqualFold(string(e.State), string(ec2types.StateAvailable)) {
			return fmt.Errorf("VPC endpoint %s is %s", aws.ToString(e.VpcEndpointId), e.State)
		}
	}
	return nil
}

// endpointIn returns an error unless the endpoint is in exactly these subnets.
func (c *cluster) endpointIn(subnets ...string) error {
	e, err := c.endpoint()
	if err != nil {
		return err
	}
	got := slices.Sorted(slices.Values(e.SubnetIds))
	if want := slices.Sorted(slices.Values(subnets)); !slices.Equal(got, want) {
		return fmt.Errorf("the endpoint is in %v, not in %v", got, want)
	}
	return nil
}

// records are the records of the operators in the cluster's private zone: name and type -> values.
func (c *cluster) records(ctx context.Context) (map[string]route53types.ResourceRecordSet, error) {
	out, err := c.route53().ListResourceRecordSets(ctx, &route53.ListResourceRecordSetsInput{HostedZoneId: &c.customer.LocalZoneID})
	if err != nil {
		return nil, err
	}
	found := map[string]route53types.ResourceRecordSet{}
	for _, r := range out.ResourceRecordSets {
		if r.Type != route53types.RRTypeNs && r.Type != route53types.RRTypeSoa {
			found[strings.TrimSuffix(aws.ToString(r.Name), ".")] = r
		}
	}
	return found, nil
}

// workerSecurityGroup is the security group that the control-plane-operator has created for all workers.
func (c *cluster) workerSecurityGroup() (string, error) {
	hcp := &hyperv1.HostedControlPlane{}
	if err := kube.Get(c.t.Context(), client.ObjectKey{Namespace: c.controlPlane(), Name: c.hc.Name}, hcp); err != nil {
		return "", err
	}
	if hcp.Status.Platform == nil || hcp.Status.Platform.AWS == nil || hcp.Status.Platform.AWS.DefaultWorkerSecurityGroupID == "" {
		return "", errors.New("the workers have no security group")
	}
	return hcp.Status.Platform.AWS.DefaultWorkerSecurityGroupID, nil
}
