package infra

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ram"
	ramtypes "github.com/aws/aws-sdk-go-v2/service/ram/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

const (
	resourceShare = "resource-share"
	acceptance    = "resource-share-acceptance"
)

// sharing shares the subnets with the account of the cluster, and tags them there: tags do not travel with a share.
func (b builder) sharing() []*rg.Node {
	var subnets []string
	var shared []*rg.Node
	for _, zone := range b.Zones {
		for _, private := range []bool{false, true} {
			if private && b.PublicOnly {
				continue
			}
			id, name, tags := b.subnetTags(zone, private)
			subnets, shared = append(subnets, id), append(shared, b.sharedSubnet(id, name, tags))
		}
	}
	return append([]*rg.Node{b.resourceShare(subnets), b.shareAcceptance()}, shared...)
}

func (b builder) resourceShare(subnets []string) *rg.Node {
	name, tags := b.InfraID+"-share", b.owner.All("", nil)
	title := func(subnet string) string { return strings.ReplaceAll(subnet, "/", " ") }
	arn := func(ids rg.IDs, subnet string) string {
		return fmt.Sprintf("arn:%s:ec2:%s:%s:subnet/%s", b.Partition, b.Region, b.VPCOwner, ids(subnet))
	}
	return &rg.Node{
		ID: resourceShare, Kind: "Resource share", Name: name, DependsOn: subnets, Parent: VPC, Repeatable: true,
		Desired: func(ids rg.IDs) rg.Attributes {
			attributes := rg.Attributes{"account": b.ClusterAccount}
			for _, s := range subnets {
				attributes[title(s)] = ids(s)
			}
			return awsgraph.WithTags(attributes, tags)
		},
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			all, err := b.shares(ctx)
			if err != nil {
				return rg.Observed{}, err
			}
			share, ok := awsgraph.Pick(all, l.ID, shareARN, func(s ramtypes.ResourceShare) bool { return aws.ToString(s.Name) == name })
			if !ok {
				return rg.Observed{}, nil
			}
			with, err := b.associations(ctx, shareARN(share), ramtypes.ResourceShareAssociationTypePrincipal)
			if err != nil {
				return rg.Observed{}, err
			}
			of, err := b.associations(ctx, shareARN(share), ramtypes.ResourceShareAssociationTypeResource)
			if err != nil {
				return rg.Observed{}, err
			}
			attributes := rg.Attributes{}
			if slices.Contains(with, b.ClusterAccount) {
				attributes["account"] = b.ClusterAccount
			}
			for _, s := range subnets {
				if slices.Contains(of, arn(l.IDs, s)) {
					attributes[title(s)] = l.IDs(s)
				}
			}
			return rg.Observed{ID: shareARN(share), Attributes: awsgraph.WithTags(attributes, shareTags(share))}, nil
		},
		Create: func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
			in := &ram.CreateResourceShareInput{
				Name: aws.String(name), Principals: []string{b.ClusterAccount}, ClientToken: aws.String(c.Token), Tags: wireShareTags(tags),
				// In an organization without sharing enabled, each other account counts as one outside of it.
				AllowExternalPrincipals: aws.Bool(true),
			}
			for _, s := range subnets {
				in.ResourceArns = append(in.ResourceArns, arn(c.IDs, s))
			}
			created, err := b.ramWriter.CreateResourceShare(ctx, in)
			if err != nil {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: aws.ToString(created.ResourceShare.ResourceShareArn)}, nil
		},
		Update: func(ctx context.Context, u rg.Update) error {
			in := &ram.AssociateResourceShareInput{ResourceShareArn: aws.String(u.Observed.ID)}
			if awsgraph.Changed(u.Changes, "account") {
				in.Principals = []string{b.ClusterAccount}
			}
			for _, s := range subnets {
				if awsgraph.Changed(u.Changes, title(s)) {
					in.ResourceArns = append(in.ResourceArns, arn(u.IDs, s))
				}
			}
			if len(in.Principals)+len(in.ResourceArns) > 0 {
				if _, err := b.ramWriter.AssociateResourceShare(ctx, in); err != nil {
					return err
				}
			}
			if changed := awsgraph.ChangedTags(u.Changes); len(changed) > 0 {
				// The policy of the command requires the ownership tag in the request: AWS does not evaluate the tags of the share.
				changed[b.owner.Tag()] = "owned"
				_, err := b.ramWriter.TagResource(ctx, &ram.TagResourceInput{ResourceShareArn: aws.String(u.Observed.ID), Tags: wireShareTags(changed)})
				return err
			}
			return nil
		},
	}
}

// shares returns the shares with the ownership tag that are not being deleted. AWS lists deleted ones for hours.
func (c *Cloud) shares(ctx context.Context) (all []ramtypes.ResourceShare, _ error) {
	in := &ram.GetResourceSharesInput{
		ResourceOwner: ramtypes.ResourceOwnerSelf, TagFilters: []ramtypes.TagFilter{{TagKey: aws.String(c.owner.Tag()), TagValues: []string{"owned"}}},
	}
	for pages := ram.NewGetResourceSharesPaginator(c.ram, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing resource shares: %w", err)
		}
		for _, s := range page.ResourceShares {
			if s.Status == ramtypes.ResourceShareStatusPending || s.Status == ramtypes.ResourceShareStatusActive {
				all = append(all, s)
			}
		}
	}
	return all, nil
}

// associations returns the accounts or the ARNs of the resources of a share.
func (c *Cloud) associations(ctx context.Context, share string, kind ramtypes.ResourceShareAssociationType) (all []string, _ error) {
	in := &ram.GetResourceShareAssociationsInput{AssociationType: kind, ResourceShareArns: []string{share}}
	for pages := ram.NewGetResourceShareAssociationsPaginator(c.ram, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading resource share %s: %w", share, err)
		}
		for _, a := range page.ResourceShareAssociations {
			if a.Status == ramtypes.ResourceShareAssociationStatusAssociating || a.Status == ramtypes.ResourceShareAssociationStatusAssociated {
				all = append(all, aws.ToString(a.AssociatedEntity))
			}
		}
	}
	return all, nil
}

// shareAcceptance lets the account of the cluster take part in the share. Within an organization with sharing enabled, it does so without
// an invitation.
func (b builder) shareAcceptance() *rg.Node {
	takesPart := func(ctx context.Context, share string) (bool, error) {
		pages := ram.NewGetResourceSharesPaginator(b.cluster.ram, &ram.GetResourceSharesInput{
			ResourceOwner: ramtypes.ResourceOwnerOtherAccounts, ResourceShareArns: []string{share},
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if awsx.IsNotFound(err) {
				return false, nil
			}
			if err != nil {
				return false, fmt.Errorf("reading resource share %s in account %s: %w", share, b.ClusterAccount, err)
			}
			if len(page.ResourceShares) > 0 {
				return true, nil
			}
		}
		return false, nil
	}
	return &rg.Node{
		ID: acceptance, Kind: "Acceptance of the resource share", DependsOn: []string{resourceShare}, Repeatable: true,
		Desired: func(rg.IDs) rg.Attributes { return rg.Attributes{"account": b.ClusterAccount} },
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			share := l.IDs(resourceShare)
			if share == "" {
				return rg.Observed{}, nil
			}
			if found, err := takesPart(ctx, share); err != nil || !found {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: share, Attributes: rg.Attributes{"account": b.ClusterAccount}}, nil
		},
		Create: func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
			share := c.IDs(resourceShare)
			if found, err := takesPart(ctx, share); err != nil || found {
				return rg.Observed{ID: share}, err
			}
			// AWS creates an invitation each time that the account is added to a share.
			pages := ram.NewGetResourceShareInvitationsPaginator(b.cluster.ram, &ram.GetResourceShareInvitationsInput{ResourceShareArns: []string{share}})
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if awsx.IsNotFound(err) {
					break
				}
				if err != nil {
					return rg.Observed{}, err
				}
				for _, i := range page.ResourceShareInvitations {
					if i.Status != ramtypes.ResourceShareInvitationStatusPending {
						continue
					}
					_, err := b.cluster.ramWriter.AcceptResourceShareInvitation(ctx, &ram.AcceptResourceShareInvitationInput{
						ResourceShareInvitationArn: i.ResourceShareInvitationArn, ClientToken: aws.String(c.Token),
					})
					return rg.Observed{ID: share}, err
				}
			}
			return rg.Observed{}, &awsgraph.NotReadyError{Reason: fmt.Sprintf("account %s has neither the resource share nor an invitation to it yet", b.ClusterAccount)}
		},
	}
}

// sharedSubnet is a subnet as the account of the cluster sees it, with tags of its own.
func (b builder) sharedSubnet(subnet, name string, tags awsx.Tags) *rg.Node {
	find := func(ctx context.Context, id string) (types.Subnet, bool, error) {
		// By a filter: a subnet that is not shared yet is no error.
		for pages := ec2.NewDescribeSubnetsPaginator(b.cluster.ec2, &ec2.DescribeSubnetsInput{Filters: []types.Filter{filter("subnet-id", id)}}); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return types.Subnet{}, false, err
			}
			if len(page.Subnets) > 0 {
				return page.Subnets[0], true, nil
			}
		}
		return types.Subnet{}, false, nil
	}
	return &rg.Node{
		ID: "shared-" + subnet, Kind: "Subnet in the account of the cluster", Name: name, DependsOn: []string{subnet, acceptance}, Repeatable: true,
		Desired: func(rg.IDs) rg.Attributes { return awsgraph.WithTags(nil, tags) },
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			id := l.IDs(subnet)
			if id == "" {
				return rg.Observed{}, nil
			}
			s, visible, err := find(ctx, id)
			if err != nil || !visible {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: id, Attributes: awsgraph.WithTags(nil, ec2util.Tags(s.Tags))}, nil
		},
		Create: func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
			id := c.IDs(subnet)
			if _, visible, err := find(ctx, id); err != nil || !visible {
				if err == nil {
					err = &awsgraph.NotReadyError{Reason: fmt.Sprintf("account %s does not see subnet %s yet", b.ClusterAccount, id)}
				}
				return rg.Observed{}, err
			}
			_, err := b.cluster.ec2Writer.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: ec2util.WireTags(tags)})
			return rg.Observed{ID: id}, err
		},
		Update: func(ctx context.Context, u rg.Update) error { return b.cluster.updateTags(ctx, u) },
	}
}

func shareARN(s ramtypes.ResourceShare) string { return aws.ToString(s.ResourceShareArn) }

func shareTags(s ramtypes.ResourceShare) awsx.Tags {
	tags := awsx.Tags{}
	for _, t := range s.Tags {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return tags
}

func wireShareTags(tags awsx.Tags) []ramtypes.Tag {
	var list []ramtypes.Tag
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, ramtypes.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
	}
	return list
}

// discoverShares finds the shares of a VPC.
func (c *Cloud) discoverShares(ctx context.Context) (all []found, _ []Remaining, _ error) {
	shares, err := c.shares(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range shares {
		all = append(all, found{kind: "resource-share", id: shareARN(s), name: aws.ToString(s.Name), delete: func(ctx context.Context) error {
			_, err := c.ramWriter.DeleteResourceShare(ctx, &ram.DeleteResourceShareInput{ResourceShareArn: s.ResourceShareArn})
			return err
		}})
	}
	return all, nil, nil
}
