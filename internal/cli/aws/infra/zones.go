package infra

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/records"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

func localZone(name string) string { return names.LocalZone(name) }

// minimumTTL is the last field of the SOA record of a private zone: how long resolvers remember that a name does not exist.
// Nodes look names up before the operators create them.
const minimumTTL = "60"

func (b builder) publicZone() *rg.Node {
	return &rg.Node{
		ID: PublicZone, Kind: "Public hosted zone", ReadsAlone: true, Name: b.BaseDomain,
		Missing: fmt.Errorf("the public hosted zone of --base-domain %s does not exist in this account; it is only looked up, because its domain must be delegated to it: "+
			"create it, or use the domain of an existing one", b.BaseDomain),
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			zones, err := zonesNamed(ctx, b.ofCluster().dns, b.BaseDomain)
			if err != nil {
				return rg.Observed{}, err
			}
			for _, z := range zones {
				if z.Config == nil || !z.Config.PrivateZone {
					return rg.Observed{ID: records.ZoneID(z.Id)}, nil
				}
			}
			return rg.Observed{}, nil
		},
	}
}

func zonesNamed(ctx context.Context, dns *route53.Client, name string) ([]types.HostedZone, error) {
	answer, err := dns.ListHostedZonesByName(ctx, &route53.ListHostedZonesByNameInput{DNSName: aws.String(name)})
	if err != nil {
		return nil, fmt.Errorf("looking for the hosted zone %s: %w", name, err)
	}
	return slices.DeleteFunc(answer.HostedZones, func(z types.HostedZone) bool {
		return records.Canonical(aws.ToString(z.Name)) != records.Canonical(name)
	}), nil
}

// reference begins the caller reference of our zones. It marks a zone as ours in the call that creates it; tags take another
// call.
func (c *Cloud) reference() string { return "hypershift/" + c.owner.InfraID + "/" }

// ownsZone is true for a zone that was created for the cluster.
func (c *Cloud) ownsZone(ctx context.Context, zone *types.HostedZone) (bool, error) {
	if strings.HasPrefix(aws.ToString(zone.CallerReference), c.reference()) {
		return true, nil
	}
	tags, err := c.tagsOfZone(ctx, records.ZoneID(zone.Id))
	return c.owner.Owns(tags), err
}

func (c *Cloud) tagsOfZone(ctx context.Context, id string) (awsx.Tags, error) {
	answer, err := c.dns.ListTagsForResource(ctx, &route53.ListTagsForResourceInput{ResourceId: aws.String(id), ResourceType: types.TagResourceTypeHostedzone})
	if err != nil {
		return nil, fmt.Errorf("reading the tags of hosted zone %s: %w", id, err)
	}
	return zoneTags(answer.ResourceTagSet.Tags), nil
}

// privateZoneNodes are a private zone on the VPC, its tags and its SOA record.
func (b builder) privateZoneNodes(id, name string) []*rg.Node {
	tags := b.owner.All("", nil)
	zone := &rg.Node{
		// A VPC has one private zone of a name.
		ID: id, Kind: "Private hosted zone", Name: name, DependsOn: []string{VPC}, Repeatable: true,
		Desired: func(ids rg.IDs) rg.Attributes { return rg.Attributes{"vpc": ids(VPC)} },
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			return b.readZone(ctx, name, l.ID, l.IDs(VPC))
		},
		Create: func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
			created, err := b.dnsWriter.CreateHostedZone(ctx, &route53.CreateHostedZoneInput{
				Name: aws.String(name), CallerReference: aws.String(b.reference() + c.Token),
				HostedZoneConfig: &types.HostedZoneConfig{PrivateZone: true},
				VPC:              &types.VPC{VPCId: aws.String(c.IDs(VPC)), VPCRegion: types.VPCRegion(b.Region)},
			})
			if err != nil {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: records.ZoneID(created.HostedZone.Id)}, nil
		},
		Update: func(ctx context.Context, u rg.Update) error {
			_, err := b.dnsWriter.AssociateVPCWithHostedZone(ctx, &route53.AssociateVPCWithHostedZoneInput{
				HostedZoneId: aws.String(u.Observed.ID), VPC: &types.VPC{VPCId: aws.String(u.IDs(VPC)), VPCRegion: types.VPCRegion(b.Region)},
			})
			return err
		},
	}
	tag := func(ctx context.Context, zone string, tags awsx.Tags) error {
		var add []types.Tag
		for _, k := range slices.Sorted(maps.Keys(tags)) {
			add = append(add, types.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
		}
		_, err := b.dnsWriter.ChangeTagsForResource(ctx, &route53.ChangeTagsForResourceInput{
			ResourceId: aws.String(zone), ResourceType: types.TagResourceTypeHostedzone, AddTags: add,
		})
		return err
	}
	tagged := &rg.Node{
		ID: id + "-tags", Kind: "Tags", DependsOn: []string{id}, Repeatable: true,
		Desired: func(rg.IDs) rg.Attributes { return awsgraph.WithTags(nil, tags) },
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			if l.IDs(id) == "" {
				return rg.Observed{}, nil
			}
			found, err := b.tagsOfZone(ctx, l.IDs(id))
			return rg.Observed{ID: l.IDs(id), Attributes: awsgraph.WithTags(nil, found)}, err
		},
		Create: func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
			return rg.Observed{ID: c.IDs(id)}, tag(ctx, c.IDs(id), tags)
		},
		Update: func(ctx context.Context, u rg.Update) error {
			return tag(ctx, u.Observed.ID, awsgraph.ChangedTags(u.Changes))
		},
	}
	soa := &rg.Node{
		ID: id + "-soa", Kind: "SOA record", DependsOn: []string{id}, Repeatable: true,
		Desired: func(rg.IDs) rg.Attributes { return rg.Attributes{"minimum-ttl": minimumTTL} },
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			if l.IDs(id) == "" {
				return rg.Observed{}, nil
			}
			_, fields, err := b.soa(ctx, l.IDs(id), name)
			if err != nil {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: l.IDs(id), Attributes: rg.Attributes{"minimum-ttl": fields[6]}}, nil
		},
		Create: func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
			return rg.Observed{ID: c.IDs(id)}, b.setMinimumTTL(ctx, c.IDs(id), name)
		},
		Update: func(ctx context.Context, u rg.Update) error { return b.setMinimumTTL(ctx, u.Observed.ID, name) },
	}
	return []*rg.Node{zone, tagged, soa}
}

// readZone returns our zone of that name: the recorded one, else the one of the VPC.
func (c *Cloud) readZone(ctx context.Context, name, recorded, vpc string) (rg.Observed, error) {
	id := recorded
	if id == "" && vpc != "" {
		zones, err := records.ZonesOf(ctx, c.dns, vpc, c.region)
		if err != nil {
			return rg.Observed{}, err
		}
		for _, z := range zones {
			if z.Name == records.Canonical(name) {
				id = z.ID
			}
		}
	}
	if id == "" {
		return rg.Observed{}, nil
	}
	zone, err := c.dns.GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: aws.String(id)})
	if awsx.IsNotFound(err) {
		if recorded != "" {
			return c.readZone(ctx, name, "", vpc)
		}
		return rg.Observed{}, nil
	}
	if err != nil {
		return rg.Observed{}, fmt.Errorf("reading hosted zone %s: %w", id, err)
	}
	if owned, err := c.ownsZone(ctx, zone.HostedZone); err != nil {
		return rg.Observed{}, err
	} else if !owned {
		return rg.Observed{}, c.owner.NotOwned("hosted zone "+name, id)
	}
	o := rg.Observed{ID: id, Attributes: rg.Attributes{}}
	for _, v := range zone.VPCs {
		if vpc == "" || aws.ToString(v.VPCId) == vpc {
			o.Attributes["vpc"] = aws.ToString(v.VPCId)
		}
	}
	return o, nil
}

// soa returns the SOA record of a zone and the fields of its value.
func (c *Cloud) soa(ctx context.Context, zone, name string) (types.ResourceRecordSet, []string, error) {
	answer, err := c.dns.ListResourceRecordSets(ctx, &route53.ListResourceRecordSetsInput{
		HostedZoneId: aws.String(zone), StartRecordName: aws.String(name), StartRecordType: types.RRTypeSoa, MaxItems: aws.Int32(1),
	})
	if err != nil {
		return types.ResourceRecordSet{}, nil, fmt.Errorf("reading the SOA record of hosted zone %s: %w", zone, err)
	}
	for _, r := range answer.ResourceRecordSets {
		if r.Type == types.RRTypeSoa && len(r.ResourceRecords) == 1 {
			if fields := strings.Fields(aws.ToString(r.ResourceRecords[0].Value)); len(fields) == 7 {
				return r, fields, nil
			}
		}
	}
	return types.ResourceRecordSet{}, nil, fmt.Errorf("hosted zone %s has no SOA record with seven fields", zone)
}

func (c *Cloud) setMinimumTTL(ctx context.Context, zone, name string) error {
	record, fields, err := c.soa(ctx, zone, name)
	if err != nil {
		return err
	}
	fields[6] = minimumTTL
	record.ResourceRecords = []types.ResourceRecord{{Value: aws.String(strings.Join(fields, " "))}}
	_, err = c.dnsWriter.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: aws.String(zone),
		ChangeBatch:  &types.ChangeBatch{Changes: []types.Change{{Action: types.ChangeActionUpsert, ResourceRecordSet: &record}}},
	})
	return err
}
