package integration

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// The state of a cluster's machines in AWS itself.

// instances are those of a pool, or of all pools for "", except for those that are being terminated.
func (c *cluster) instances(pool string) ([]ec2types.Instance, error) {
	pages := ec2.NewDescribeInstancesPaginator(c.ec2(), &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{
		{Name: aws.String("instance-state-name"), Values: []string{"pending", "running"}},
	}})
	var found []ec2types.Instance
	for pages.HasMorePages() {
		page, err := pages.NextPage(c.t.Context())
		if err != nil {
			return nil, err
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				if pool == "" || strings.HasPrefix(tag(i.Tags, "Name"), pool+"-") {
					found = append(found, i)
				}
			}
		}
	}
	return found, nil
}

func tag(tags []ec2types.Tag, key string) string {
	i := slices.IndexFunc(tags, func(t ec2types.Tag) bool { return aws.ToString(t.Key) == key })
	if i < 0 {
		return ""
	}
	return aws.ToString(tags[i].Value)
}

func providerID(i ec2types.Instance) string {
	return "aws:///" + aws.ToString(i.Placement.AvailabilityZone) + "/" + aws.ToString(i.InstanceId)
}

// ids are the sorted ids of a pool's instances.
func (c *cluster) ids(pool string) []string {
	c.t.Helper()
	instances, err := c.instances(pool)
	c.must(err)
	var ids []string
	for _, i := range instances {
		ids = append(ids, aws.ToString(i.InstanceId))
	}
	slices.Sort(ids)
	return ids
}

func (c *cluster) rootVolume(i ec2types.Instance) ec2types.Volume {
	c.t.Helper()
	out, err := c.ec2().DescribeVolumes(c.t.Context(), &ec2.DescribeVolumesInput{Filters: []ec2types.Filter{
		{Name: aws.String("attachment.instance-id"), Values: []string{aws.ToString(i.InstanceId)}},
	}})
	c.must(err)
	if len(out.Volumes) != 1 {
		c.t.Fatalf("instance %s has %d volumes, want 1", *i.InstanceId, len(out.Volumes))
	}
	return out.Volumes[0]
}

func (c *cluster) userData(i ec2types.Instance) string {
	c.t.Helper()
	out, err := c.ec2().DescribeInstanceAttribute(c.t.Context(), &ec2.DescribeInstanceAttributeInput{InstanceId: i.InstanceId, Attribute: ec2types.InstanceAttributeNameUserData})
	c.must(err)
	text, err := base64.StdEncoding.DecodeString(aws.ToString(out.UserData.Value))
	c.must(err)
	return string(text)
}

// terminate terminates an instance, as a user in the AWS console may do.
func (c *cluster) terminate(id string) {
	c.t.Helper()
	_, err := c.ec2().TerminateInstances(c.t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	c.must(err)
}

// ofType returns an error unless all instances of a pool have a type.
func (c *cluster) ofType(pool, instanceType string) error {
	instances, err := c.instances(pool)
	if err != nil {
		return err
	}
	for _, i := range instances {
		if string(i.InstanceType) != instanceType {
			return fmt.Errorf("instance %s is of type %s", *i.InstanceId, i.InstanceType)
		}
	}
	return nil
}
