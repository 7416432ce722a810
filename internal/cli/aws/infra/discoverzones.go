package infra

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/records"
)

// discoverZones finds private zones of the VPCs, and zones with one of the names.
func (c *Cloud) discoverZones(ctx context.Context, vpcs, named []string) (all []found, _ []Remaining, _ error) {
	ids := map[string]bool{}
	for _, vpc := range vpcs {
		zones, err := records.ZonesOf(ctx, c.dns, vpc, c.region)
		if err != nil {
			return nil, nil, err
		}
		for _, z := range zones {
			ids[z.ID] = true
		}
	}
	for _, name := range named {
		zones, err := zonesNamed(ctx, c.dns, name)
		if err != nil {
			return nil, nil, err
		}
		for _, z := range zones {
			if z.Config != nil && z.Config.PrivateZone {
				ids[records.ZoneID(z.Id)] = true
			}
		}
	}
	var rest []Remaining
	for id := range ids {
		zone, err := c.dns.GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: aws.String(id)})
		if awsx.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("reading hosted zone %s: %w", id, err)
		}
		name := records.Canonical(aws.ToString(zone.HostedZone.Name))
		owned, err := c.ownsZone(ctx, zone.HostedZone)
		switch {
		case err != nil:
			return nil, nil, err
		case owned:
			all = append(all, found{kind: "hosted-zone", id: id, name: name, delete: func(ctx context.Context) error { return c.deleteZone(ctx, id) }})
		case slices.ContainsFunc(zone.VPCs, func(v route53types.VPC) bool { return slices.Contains(vpcs, aws.ToString(v.VPCId)) }):
			rest = append(rest, Remaining{"Private hosted zone", id, fmt.Sprintf("%s is associated with the VPC and does not carry the tag of the cluster", name)})
		}
	}
	return all, rest, nil
}

// deleteZone deletes a zone with its records.
func (c *Cloud) deleteZone(ctx context.Context, id string) error {
	var changes []route53types.Change
	for pages := route53.NewListResourceRecordSetsPaginator(c.dns, &route53.ListResourceRecordSetsInput{HostedZoneId: aws.String(id)}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, r := range page.ResourceRecordSets {
			if r.Type != route53types.RRTypeNs && r.Type != route53types.RRTypeSoa {
				changes = append(changes, route53types.Change{Action: route53types.ChangeActionDelete, ResourceRecordSet: &r})
			}
		}
	}
	for batch := range slices.Chunk(changes, 500) { // AWS accepts 1000 values in a batch
		_, err := c.dnsWriter.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{
			HostedZoneId: aws.String(id), ChangeBatch: &route53types.ChangeBatch{Changes: batch},
		})
		if err != nil {
			return err
		}
	}
	_, err := c.dnsWriter.DeleteHostedZone(ctx, &route53.DeleteHostedZoneInput{Id: aws.String(id)})
	return err
}
