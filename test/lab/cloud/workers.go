package cloud

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/test/lab/poll"
)

// Worker is a running instance in the account of a customer.
type Worker struct {
	ID, Account, VPC, Zone, Type, Image, Hostname string
	Address                                       netip.Addr
	UserData                                      []byte
}

// FollowWorkers calls tell with the running instances in the accounts of customers whenever they have changed, and again
// after an error, until ctx ends.
func (c *Cloud) FollowWorkers(ctx context.Context, progress io.Writer, tell func(context.Context, []Worker) error) {
	poll.New("workers", poll.Options{Changed: c.changes.follower(), Clock: clock.RealClock{}, Progress: progress}, func(ctx context.Context) (bool, error) {
		var all []Worker
		stable := true
		for _, account := range c.changes.called() {
			if account == c.Management.Account {
				continue
			}
			workers, still, err := c.running(ctx, account)
			if err != nil {
				return false, err
			}
			all, stable = append(all, workers...), stable && still
		}
		c.workers.set(all)
		return stable && c.changes.shown(), tell(ctx, all) // a new instance is found with a delay
	}).Run(ctx)
}

// running returns the running instances of an account, and whether none is in transition.
func (c *Cloud) running(ctx context.Context, account string) (running []Worker, stable bool, err error) {
	client := ec2.NewFromConfig(c.AWS.Config(account))
	described, err := client.DescribeInstances(ctx, &ec2.DescribeInstancesInput{})
	if err != nil {
		return nil, false, fmt.Errorf("describing instances of account %s: %w", account, err)
	}
	stable = true
	for _, reservation := range described.Reservations {
		for _, i := range reservation.Instances {
			switch i.State.Name {
			case types.InstanceStateNameRunning:
				w, err := worker(ctx, client, account, i)
				if err != nil {
					return nil, false, err
				}
				running = append(running, w)
			case types.InstanceStateNamePending:
				stable = false
			}
		}
	}
	return running, stable, nil
}

func worker(ctx context.Context, client *ec2.Client, account string, i types.Instance) (Worker, error) {
	w := Worker{
		ID: aws.ToString(i.InstanceId), Account: account, VPC: aws.ToString(i.VpcId), Zone: aws.ToString(i.Placement.AvailabilityZone),
		Type: string(i.InstanceType), Image: aws.ToString(i.ImageId), Hostname: aws.ToString(i.PrivateDnsName),
	}
	data, err := client.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{InstanceId: i.InstanceId, Attribute: types.InstanceAttributeNameUserData})
	if err != nil {
		return w, fmt.Errorf("reading the user data of instance %s: %w", w.ID, err)
	}
	if data.UserData != nil {
		if w.UserData, err = base64.StdEncoding.DecodeString(aws.ToString(data.UserData.Value)); err != nil {
			return w, fmt.Errorf("reading the user data of instance %s: %w", w.ID, err)
		}
	}
	if w.Address, err = netip.ParseAddr(aws.ToString(i.PrivateIpAddress)); err != nil {
		return w, fmt.Errorf("reading the address of instance %s: %w", w.ID, err)
	}
	return w, nil
}
