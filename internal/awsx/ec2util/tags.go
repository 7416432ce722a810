package ec2util

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// API is the part of EC2 that this package calls.
type API interface {
	CreateTags(context.Context, *ec2.CreateTagsInput, ...func(*ec2.Options)) (*ec2.CreateTagsOutput, error)
}

// TagsOnCreate returns the tags for the call that creates the resource. Tagging it
// later would leave a resource without owner if the process dies in between.
func TagsOnCreate(kind types.ResourceType, tags awsx.Tags) []types.TagSpecification {
	return []types.TagSpecification{{ResourceType: kind, Tags: WireTags(tags)}}
}

// Tags reads the tags of a resource.
func Tags(in []types.Tag) awsx.Tags {
	tags := awsx.Tags{}
	for _, t := range in {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return tags
}

// Owned returns filters for the resources in the VPC with the owner's tag.
func Owned(owner, vpc string) []types.Filter {
	return []types.Filter{
		{Name: aws.String("tag:" + awsx.OwnerTag), Values: []string{owner}},
		{Name: aws.String("vpc-id"), Values: []string{vpc}},
	}
}

// EnsureTags gives the resource the desired tags that it does not have.
func EnsureTags(ctx context.Context, api API, id string, desired, current awsx.Tags) (changed bool, err error) {
	missing := desired.Missing(current)
	if missing == nil {
		return false, nil
	}
	if _, err := api.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: WireTags(missing)}); err != nil {
		return false, fmt.Errorf("tagging %s: %w", id, err)
	}
	return true, nil
}

// WireTags returns tags as EC2 takes them, sorted by key.
func WireTags(tags awsx.Tags) []types.Tag {
	var out []types.Tag
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, types.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
	}
	return out
}
