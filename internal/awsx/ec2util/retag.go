package ec2util

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// Retagger can remove tags too.
type Retagger interface {
	API
	DeleteTags(context.Context, *ec2.DeleteTagsInput, ...func(*ec2.Options)) (*ec2.DeleteTagsOutput, error)
}

// Retag adds the desired tags to the resource and removes tags with stale keys.
// All other tags belong to others and stay.
func Retag(ctx context.Context, api Retagger, id string, desired, current awsx.Tags, stale []string, hooks awsx.Hooks) (changed bool, err error) {
	tagged, err := EnsureTags(ctx, api, id, desired, current)
	if err != nil {
		return false, err
	}
	if tagged {
		hooks.Changed(id, "tags put right")
	}
	untagged, err := untag(ctx, api, id, current, stale, hooks)
	return tagged || untagged, err
}

// untag skips the removal where it is not allowed: roles that were created for an
// earlier version do not allow it, and a tag too many does no harm.
func untag(ctx context.Context, api Retagger, id string, current awsx.Tags, stale []string, hooks awsx.Hooks) (bool, error) {
	var keys []string
	var tags []types.Tag
	for _, k := range stale {
		if _, exists := current[k]; exists {
			keys = append(keys, k)
			tags = append(tags, types.Tag{Key: aws.String(k)})
		}
	}
	if len(keys) == 0 {
		return false, nil
	}
	slices.Sort(keys)
	what := "tags taken away: " + strings.Join(keys, ", ")
	_, err := api.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: []string{id}, Tags: tags})
	if awsx.IsDenied(err) {
		hooks.Skipped(id, "not allowed, and not tried again: "+what)
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("taking tags from %s: %w", id, err)
	}
	hooks.Changed(id, what)
	return true, nil
}
