//go:build e2e

package e2e

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

func (h *hosted) ec2() *ec2.Client { return ec2.NewFromConfig(on.AWS.Config(h.customer.Account)) }

// instances returns the instances of a pool, or of all pools for "", except for terminating instances.
func (h *hosted) instances(pool string) ([]ec2types.Instance, error) {
	pages := ec2.NewDescribeInstancesPaginator(h.ec2(), &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{
		{Name: aws.String("instance-state-name"), Values: []string{"pending", "running"}},
	}})
	var found []ec2types.Instance
	for pages.HasMorePages() {
		page, err := pages.NextPage(h.t.Context())
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
func (h *hosted) ids(pool string) []string {
	h.t.Helper()
	instances, err := h.instances(pool)
	h.must(err)
	var ids []string
	for _, i := range instances {
		ids = append(ids, aws.ToString(i.InstanceId))
	}
	slices.Sort(ids)
	return ids
}

func (h *hosted) rootVolume(i ec2types.Instance) ec2types.Volume {
	h.t.Helper()
	out, err := h.ec2().DescribeVolumes(h.t.Context(), &ec2.DescribeVolumesInput{Filters: []ec2types.Filter{
		{Name: aws.String("attachment.instance-id"), Values: []string{aws.ToString(i.InstanceId)}},
	}})
	h.must(err)
	if len(out.Volumes) != 1 {
		h.t.Fatalf("instance %s has %d volumes, want 1", *i.InstanceId, len(out.Volumes))
	}
	return out.Volumes[0]
}

func (h *hosted) userData(i ec2types.Instance) string {
	h.t.Helper()
	out, err := h.ec2().DescribeInstanceAttribute(h.t.Context(), &ec2.DescribeInstanceAttributeInput{InstanceId: i.InstanceId, Attribute: ec2types.InstanceAttributeNameUserData})
	h.must(err)
	text, err := base64.StdEncoding.DecodeString(aws.ToString(out.UserData.Value))
	h.must(err)
	return string(text)
}

// terminate terminates an instance, as a user in the AWS console may do.
func (h *hosted) terminate(id string) {
	h.t.Helper()
	_, err := h.ec2().TerminateInstances(h.t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	h.must(err)
}

// ofType returns an error unless all instances of a pool have a type.
func (h *hosted) ofType(pool, instanceType string) error {
	instances, err := h.instances(pool)
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
