package iamrole

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// TrustEC2 is the trust policy of a role that instances have. The name of the service as a principal is the same in all partitions, unlike in
// conditions: region-info of https://github.com/aws/aws-cdk, version 2.202.
func TrustEC2() string {
	return Document(map[string]any{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": map[string]any{"Service": "ec2.amazonaws.com"}})
}

// Profile returns the node of an instance profile.
func (c *Client) Profile(id, name string) *rg.Node {
	tags := c.owner.All("", nil)
	return &rg.Node{
		ID: id, Kind: "Instance profile", ReadsAlone: true, Name: name, Repeatable: true,
		Desired: func(rg.IDs) rg.Attributes { return awsgraph.WithTags(nil, tags) },
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			answer, err := c.Reader.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(name)})
			if awsx.IsNotFound(err) {
				return rg.Observed{}, nil
			}
			if err != nil {
				return rg.Observed{}, err
			}
			if !c.owner.Owns(TagsOf(answer.InstanceProfile.Tags)) {
				return rg.Observed{}, c.owner.NotOwned("instance profile", name)
			}
			return rg.Observed{ID: name, Attributes: awsgraph.WithTags(nil, TagsOf(answer.InstanceProfile.Tags))}, nil
		},
		Create: func(ctx context.Context, _ rg.Creation) (rg.Observed, error) {
			_, err := c.Writer.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String(name), Tags: WireTags(tags)})
			return rg.Observed{ID: name}, err
		},
		Update: func(ctx context.Context, u rg.Update) error {
			_, err := c.Writer.TagInstanceProfile(ctx, &iam.TagInstanceProfileInput{InstanceProfileName: aws.String(name), Tags: WireTags(awsgraph.ChangedTags(u.Changes))})
			return err
		},
	}
}

// ProfileRole is the role that is wanted in an instance profile.
type ProfileRole struct {
	ID                     string
	ProfileID, ProfileName string
	RoleID, RoleName       string
}

// ProfileRole returns the node of the role in an instance profile.
func (c *Client) ProfileRole(r ProfileRole) *rg.Node {
	return &rg.Node{
		ID: r.ID, Kind: "Role in the instance profile", Name: r.RoleName, DependsOn: []string{r.ProfileID, r.RoleID}, Repeatable: true,
		Desired:   func(rg.IDs) rg.Attributes { return rg.Attributes{"role": r.RoleName} },
		Immutable: []string{"role"},
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			if l.IDs(r.ProfileID) == "" {
				return rg.Observed{}, nil
			}
			answer, err := c.Reader.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(r.ProfileName)})
			if awsx.IsNotFound(err) {
				return rg.Observed{}, nil
			}
			if err != nil || len(answer.InstanceProfile.Roles) == 0 {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: r.ProfileName, Attributes: rg.Attributes{"role": aws.ToString(answer.InstanceProfile.Roles[0].RoleName)}}, nil
		},
		Create: func(ctx context.Context, _ rg.Creation) (rg.Observed, error) {
			_, err := c.Writer.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String(r.ProfileName), RoleName: aws.String(r.RoleName)})
			if awsx.Kind(err) == awsx.Limit {
				err = &awsgraph.ExistsError{Err: err} // a profile has one role
			}
			return rg.Observed{ID: r.ProfileName}, err
		},
	}
}

// FindProfile returns the node of an existing instance profile for its deletion, or nil. A profile of that name that is not the
// owner's is returned as the second result.
func (c *Client) FindProfile(ctx context.Context, node, name string) (_ *rg.Node, notOwned, _ error) {
	answer, err := c.Reader.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(name)})
	if awsx.IsNotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading instance profile %s: %w", name, err)
	}
	if !c.owner.Owns(TagsOf(answer.InstanceProfile.Tags)) {
		return nil, c.owner.NotOwned("instance profile", name), nil
	}
	return Existing(node, "Instance profile", name, name, func(ctx context.Context) error { return c.deleteProfile(ctx, name) }), nil, nil
}

// deleteProfile deletes an instance profile. Its role is read again: an earlier attempt may have removed it, and its answer was lost.
func (c *Client) deleteProfile(ctx context.Context, name string) error {
	answer, err := c.Reader.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(name)})
	if err != nil {
		return err
	}
	for _, r := range answer.InstanceProfile.Roles {
		_, err := c.Writer.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: aws.String(name), RoleName: r.RoleName})
		if err != nil && !awsx.IsNotFound(err) {
			return err
		}
	}
	_, err = c.Writer.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: aws.String(name)})
	return err
}
