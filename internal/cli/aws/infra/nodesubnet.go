package infra

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// NodeSubnet returns the subnet for nodes in a zone: the private one, or the public one of a network without private subnets.
func (c *Cloud) NodeSubnet(ctx context.Context, zone string) (string, error) {
	subnets, err := c.subnets.Get(ctx, false)
	if err != nil {
		return "", err
	}
	for _, part := range []string{"-private-", "-public-"} {
		for _, s := range subnets {
			if aws.ToString(s.AvailabilityZone) == zone && named(s.Tags, c.owner.InfraID+part+zone) {
				return aws.ToString(s.SubnetId), nil
			}
		}
	}
	return "", fmt.Errorf("no subnet in zone %s carries the tag %s: add the zone with `create infra aws`, or pass --subnet-id", zone, c.owner.Want())
}
