package cloud

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// Address is that of machine n in a zone of a network of /16: in the zone's private subnet, as SeedManagement cuts the network.
// AWS gives an instance no other one. A machine of no zone is among what is in none.
func Address(network netip.Prefix, zone string, n int) netip.Addr {
	a := network.Masked().Addr().As4()
	if zone != "" {
		a[2] = 16 * (2*(zone[len(zone)-1]-'a') + 1)
	}
	a[3] = byte(n)
	return netip.AddrFrom4(a)
}

// RunInstance makes the instance that a machine of the management cluster is, with its name, zone and Address.
func (c *Cloud) RunInstance(ctx context.Context, o awsemulator.InstanceOptions) (awsemulator.Instance, error) {
	return c.AWS.RunInstance(ctx, c.Management, o)
}

// TerminateInstance ends one whose machine is gone for good. The cloud-controller-manager then removes its Node.
func (c *Cloud) TerminateInstance(ctx context.Context, id string) error {
	client := ec2.NewFromConfig(c.AWS.Config(c.Management.Account))
	if _, err := client.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		return fmt.Errorf("terminating instance %s: %w", id, err)
	}
	return nil
}
