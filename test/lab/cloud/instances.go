package cloud

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/lab/vpc"
)

// Address is the address of machine n in a zone of a /16 network. It is in the zone's private subnet, according to the
// layout of SeedManagement; AWS accepts no other for an instance. A machine without a zone gets an address outside of all
// subnets.
func Address(network netip.Prefix, zone string, n int) netip.Addr {
	a := network.Masked().Addr().As4()
	if zone != "" {
		a[2] = 16 * (2*(zone[len(zone)-1]-'a') + 1)
	}
	a[3] = byte(n)
	return netip.AddrFrom4(a)
}

// RunInstance creates the instance of a machine of a management cluster, with its name, zone and Address.
func (c *Cloud) RunInstance(ctx context.Context, of *awsemulator.Management, o awsemulator.InstanceOptions) (awsemulator.Instance, error) {
	o.Type = cmp.Or(o.Type, "m5.large")
	i, err := c.AWS.RunInstance(ctx, of, o)
	if err == nil {
		c.workers.manage(vpc.Metadata{ID: i.ID, Zone: i.Zone, Type: o.Type, Image: awsemulator.ImageAMD64, Hostname: i.PrivateDNSName, Role: nodeRole})
	}
	return i, err
}

// nodeRole is the role of the nodes of the management cluster. Only a node may get its credentials.
const nodeRole = "management-node"

// TerminateInstance terminates the instance of a removed machine. The cloud-controller-manager then deletes its Node.
func (c *Cloud) TerminateInstance(ctx context.Context, id string) error {
	client := ec2.NewFromConfig(c.AWS.Config(c.Management.Account))
	if _, err := client.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		return fmt.Errorf("terminating instance %s: %w", id, err)
	}
	c.workers.release(id)
	return nil
}

// StopInstance stops the instance of a machine that is off, and StartInstance starts it again. EC2 stops an instance whose operating system
// shuts down: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Stop_Start.html
func (c *Cloud) StopInstance(ctx context.Context, id string) error {
	_, err := ec2.NewFromConfig(c.AWS.Config(c.Management.Account)).StopInstances(ctx, &ec2.StopInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		return fmt.Errorf("stopping instance %s: %w", id, err)
	}
	return nil
}

// StartInstance starts an instance that was stopped, as soon as it is.
func (c *Cloud) StartInstance(ctx context.Context, id string) error {
	api := ec2.NewFromConfig(c.AWS.Config(c.Management.Account))
	stopped := ec2.NewInstanceStoppedWaiter(api, func(o *ec2.InstanceStoppedWaiterOptions) { o.MinDelay, o.MaxDelay = 100*time.Millisecond, time.Second })
	if err := stopped.Wait(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}}, time.Minute); err != nil {
		return fmt.Errorf("waiting until instance %s is stopped: %w", id, err)
	}
	_, err := api.StartInstances(ctx, &ec2.StartInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		return fmt.Errorf("starting instance %s: %w", id, err)
	}
	return nil
}
