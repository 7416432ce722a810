package iamrole

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// Client is IAM in an account, for the roles of one owner.
type Client struct {
	Reader *iam.Client
	// Writer makes one attempt. The engine decides about the next one.
	Writer *iam.Client
	// Owns is true for a role that is the owner's. Default: it carries the ownership tag.
	Owns func(*types.Role) bool

	owner awsgraph.Owner
}

// New returns IAM in the account of cfg.
func New(cfg aws.Config, owner awsgraph.Owner) *Client {
	writing := cfg.Copy()
	writing.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	return &Client{
		Reader: iam.NewFromConfig(cfg), Writer: iam.NewFromConfig(writing), owner: owner,
		Owns: func(r *types.Role) bool { return owner.Owns(TagsOf(r.Tags)) },
	}
}

// TagsOf returns the tags of a resource of IAM.
func TagsOf(list []types.Tag) awsx.Tags {
	tags := awsx.Tags{}
	for _, t := range list {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return tags
}

// WireTags returns tags for a call of IAM.
func WireTags(tags awsx.Tags) []types.Tag {
	var list []types.Tag
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, types.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
	}
	return list
}

// Role is a role that is wanted.
type Role struct {
	ID, Name string
	// Trust is the normalized trust policy.
	Trust     string
	DependsOn []string
}

// Role returns the node of a role.
func (c *Client) Role(r Role) *rg.Node {
	tags := c.owner.All("", nil)
	return &rg.Node{
		ID: r.ID, Kind: "Role", ReadsAlone: true, Name: r.Name, DependsOn: r.DependsOn, Repeatable: true,
		Desired: func(rg.IDs) rg.Attributes {
			return awsgraph.WithTags(rg.Attributes{"trust-policy": r.Trust}, tags)
		},
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			answer, err := c.Reader.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(r.Name)})
			if awsx.IsNotFound(err) {
				return rg.Observed{}, nil
			}
			if err != nil {
				return rg.Observed{}, err
			}
			if !c.Owns(answer.Role) {
				return rg.Observed{}, c.owner.NotOwned("role", r.Name)
			}
			current, err := url.PathUnescape(aws.ToString(answer.Role.AssumeRolePolicyDocument))
			if err != nil {
				return rg.Observed{}, fmt.Errorf("decoding the trust policy of role %s: %w", r.Name, err)
			}
			return rg.Observed{ID: r.Name, Attributes: awsgraph.WithTags(rg.Attributes{"trust-policy": Normalize(current)}, TagsOf(answer.Role.Tags))}, nil
		},
		Create: func(ctx context.Context, _ rg.Creation) (rg.Observed, error) {
			_, err := c.Writer.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String(r.Name), AssumeRolePolicyDocument: aws.String(r.Trust), Tags: WireTags(tags)})
			return rg.Observed{ID: r.Name}, err
		},
		Update: func(ctx context.Context, u rg.Update) error {
			if awsgraph.Changed(u.Changes, "trust-policy") {
				_, err := c.Writer.UpdateAssumeRolePolicy(ctx, &iam.UpdateAssumeRolePolicyInput{RoleName: aws.String(r.Name), PolicyDocument: aws.String(r.Trust)})
				if err != nil {
					return err
				}
			}
			if changed := awsgraph.ChangedTags(u.Changes); len(changed) > 0 {
				_, err := c.Writer.TagRole(ctx, &iam.TagRoleInput{RoleName: aws.String(r.Name), Tags: WireTags(changed)})
				return err
			}
			return nil
		},
	}
}

// Policy is an inline policy that is wanted.
type Policy struct {
	ID, Name         string
	RoleID, RoleName string
	// Document returns the normalized policy. It contains Unknown where the id of a node of DependsOn is not known yet.
	Document func(rg.IDs) (string, error)
	// DependsOn are nodes besides the role.
	DependsOn []string
}

// Policy returns the node of a policy.
func (c *Client) Policy(p Policy) *rg.Node {
	put := func(ctx context.Context, ids rg.IDs) error {
		text, err := p.Document(ids)
		if err == nil && strings.Contains(text, Unknown) {
			err = fmt.Errorf("an id in policy %s is not known", p.Name)
		}
		if err != nil {
			return err
		}
		_, err = c.Writer.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: aws.String(p.RoleName), PolicyName: aws.String(p.Name), PolicyDocument: aws.String(text)})
		return err
	}
	return &rg.Node{
		ID: p.ID, Kind: "Policy", Name: p.Name, DependsOn: append([]string{p.RoleID}, p.DependsOn...), Repeatable: true,
		Desired: func(ids rg.IDs) rg.Attributes {
			text, err := p.Document(ids)
			if err != nil {
				text = err.Error() // the creation returns the error
			}
			return rg.Attributes{"document": text}
		},
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			if l.IDs(p.RoleID) == "" {
				return rg.Observed{}, nil
			}
			answer, err := c.Reader.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: aws.String(p.RoleName), PolicyName: aws.String(p.Name)})
			if awsx.IsNotFound(err) {
				return rg.Observed{}, nil
			}
			if err != nil {
				return rg.Observed{}, err
			}
			current, err := url.PathUnescape(aws.ToString(answer.PolicyDocument))
			if err != nil {
				return rg.Observed{}, fmt.Errorf("decoding policy %s: %w", p.Name, err)
			}
			return rg.Observed{ID: p.Name, Attributes: rg.Attributes{"document": Normalize(current)}}, nil
		},
		Create: func(ctx context.Context, creation rg.Creation) (rg.Observed, error) {
			return rg.Observed{ID: p.Name}, put(ctx, creation.IDs)
		},
		Update: func(ctx context.Context, u rg.Update) error { return put(ctx, u.IDs) },
	}
}

// Find returns the node of an existing role for its deletion, or nil. A role of that name that is not the owner's is returned as
// the second result.
func (c *Client) Find(ctx context.Context, name string) (_ *rg.Node, notOwned, _ error) {
	answer, err := c.Reader.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(name)})
	if awsx.IsNotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading role %s: %w", name, err)
	}
	if !c.Owns(answer.Role) {
		return nil, c.owner.NotOwned("role", name), nil
	}
	return Existing("role/"+name, "Role", name, name, func(ctx context.Context) error { return c.delete(ctx, name) }), nil, nil
}

// Existing is a node of a resource that was found.
func Existing(node, kind, name, id string, remove func(context.Context) error) *rg.Node {
	return &rg.Node{
		ID: node, Kind: kind, Name: name, Parent: "-",
		Read:   func(context.Context, rg.Lookup) (rg.Observed, error) { return rg.Observed{ID: id}, nil },
		Delete: func(ctx context.Context, _ rg.Observed) error { return remove(ctx) },
	}
}

// delete deletes a role with its policies.
func (c *Client) delete(ctx context.Context, name string) error {
	for pages := iam.NewListRolePoliciesPaginator(c.Reader, &iam.ListRolePoliciesInput{RoleName: aws.String(name)}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, policy := range page.PolicyNames {
			_, err := c.Writer.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: aws.String(name), PolicyName: aws.String(policy)})
			if err != nil && !awsx.IsNotFound(err) {
				return err
			}
		}
	}
	for pages := iam.NewListAttachedRolePoliciesPaginator(c.Reader, &iam.ListAttachedRolePoliciesInput{RoleName: aws.String(name)}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, policy := range page.AttachedPolicies {
			_, err := c.Writer.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: aws.String(name), PolicyArn: policy.PolicyArn})
			if err != nil && !awsx.IsNotFound(err) {
				return err
			}
		}
	}
	_, err := c.Writer.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: aws.String(name)})
	return err
}
