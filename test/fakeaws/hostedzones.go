package fakeaws

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
)

func init() {
	register(Route53,
		read("ListHostedZones", (*request).listZones, "Marker", "MaxItems", "HostedZoneType"),
		read("ListHostedZonesByVPC", (*request).listZonesByVPC, "VPCId", "VPCRegion", "MaxItems", "NextToken"),
		read("GetHostedZone", (*request).getZone, "Id"),
	)
}

// HostedZone is a seed for AddHostedZone. A zone with VPCs is private.
type HostedZone struct {
	ID   string // made up if empty
	Name string
	VPCs []ZoneVPC
}

// ZoneVPC is a VPC, of any account, that a private zone is associated with.
type ZoneVPC struct{ Region, ID string }

type hostedZone struct {
	id       string
	sequence int
	owner    *Account
	name     string // with the final dot
	vpcs     []ZoneVPC
	records  map[recordKey]types.ResourceRecordSet
	order    []recordKey // as ListResourceRecordSets has them
}

// AddHostedZone makes a zone with the NS and SOA records of every zone and returns its id.
func (a *Account) AddHostedZone(seed HostedZone) string {
	c := a.cloud
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sequence++
	if seed.ID == "" {
		seed.ID = fmt.Sprintf("Z%019d", c.sequence)
	}
	z := &hostedZone{id: seed.ID, sequence: c.sequence, owner: a, name: canonicalName(seed.Name), vpcs: seed.VPCs, records: map[recordKey]types.ResourceRecordSet{}}
	z.put(record(z.name, types.RRTypeNs, 172800, "ns-0.awsdns-00.com.", "ns-512.awsdns-00.net."))
	z.put(record(z.name, types.RRTypeSoa, 900, "ns-0.awsdns-00.com. awsdns-hostmaster.amazon.com. 1 7200 900 1209600 86400"))
	c.zones[z.id] = z
	return z.id
}

// RemoveHostedZone takes a zone away with all it has.
func (a *Account) RemoveHostedZone(id string) {
	a.cloud.mu.Lock()
	defer a.cloud.mu.Unlock()
	delete(a.cloud.zones, id)
}

// zone returns a zone of the caller. Ids come with and without /hostedzone/.
func (q *request) zone(id *string) (*hostedZone, error) {
	short := strings.TrimPrefix(aws.ToString(id), "/hostedzone/")
	z := q.cloud.zones[short]
	switch {
	case z == nil:
		return nil, modelled(http.StatusNotFound, &types.NoSuchHostedZone{Message: aws.String("No hosted zone found with ID: " + short)})
	case z.owner != q.account:
		return nil, refused(http.StatusForbidden, "AccessDenied", "User: "+q.arn+" is not authorized to access this resource")
	}
	return z, nil
}

func (c *Cloud) zonesWhere(wanted func(*hostedZone) bool) []*hostedZone {
	var found []*hostedZone
	for _, z := range c.zones {
		if wanted(z) {
			found = append(found, z)
		}
	}
	slices.SortFunc(found, func(a, b *hostedZone) int { return cmp.Compare(a.sequence, b.sequence) })
	return found
}

// zonePage returns the zones after the marker's zone.
func (q *request) zonePage(zones []*hostedZone, marker *string, maxItems *int32) (page []*hostedZone, next *string, err error) {
	if aws.ToString(marker) != "" {
		i := slices.IndexFunc(zones, func(z *hostedZone) bool { return z.id == *marker })
		if i < 0 {
			return nil, nil, modelled(http.StatusBadRequest, &types.InvalidPaginationToken{Message: aws.String("The marker is not valid")})
		}
		zones = zones[i:]
	}
	n := min(int(aws.ToInt32(cmp.Or(maxItems, aws.Int32(100)))), q.cloud.pageSize, 100)
	if n < len(zones) {
		return zones[:n], aws.String(zones[n].id), nil
	}
	return zones, nil, nil
}

func (q *request) listZones(in *route53.ListHostedZonesInput) (*route53.ListHostedZonesOutput, error) {
	zones := q.cloud.zonesWhere(func(z *hostedZone) bool {
		return z.owner == q.account && (in.HostedZoneType != types.HostedZoneTypePrivateHostedZone || len(z.vpcs) > 0)
	})
	found, next, err := q.zonePage(zones, in.Marker, in.MaxItems)
	if err != nil {
		return nil, err
	}
	out := &route53.ListHostedZonesOutput{NextMarker: next, IsTruncated: next != nil, Marker: in.Marker, MaxItems: cmp.Or(in.MaxItems, aws.Int32(100))}
	for _, z := range found {
		out.HostedZones = append(out.HostedZones, *z.describe())
	}
	return out, nil
}

func (z *hostedZone) describe() *types.HostedZone {
	return &types.HostedZone{
		Id: aws.String("/hostedzone/" + z.id), Name: aws.String(z.name), CallerReference: aws.String(z.id),
		Config: &types.HostedZoneConfig{PrivateZone: len(z.vpcs) > 0}, ResourceRecordSetCount: aws.Int64(int64(len(z.records))),
	}
}

// listZonesByVPC returns the private zones of a VPC, whoever owns them.
func (q *request) listZonesByVPC(in *route53.ListHostedZonesByVPCInput) (*route53.ListHostedZonesByVPCOutput, error) {
	vpc := ZoneVPC{string(in.VPCRegion), *in.VPCId}
	if !q.account.region(vpc.Region).vpcs.has(vpc.ID) {
		return nil, refused(http.StatusForbidden, "AccessDenied", "The VPC: "+vpc.ID+" you provided is not authorized to be used by this account")
	}
	found, next, err := q.zonePage(q.cloud.zonesWhere(func(z *hostedZone) bool { return slices.Contains(z.vpcs, vpc) }), in.NextToken, in.MaxItems)
	if err != nil {
		return nil, err
	}
	out := &route53.ListHostedZonesByVPCOutput{NextToken: next, MaxItems: cmp.Or(in.MaxItems, aws.Int32(100))}
	for _, z := range found {
		out.HostedZoneSummaries = append(out.HostedZoneSummaries, types.HostedZoneSummary{
			HostedZoneId: aws.String(z.id), Name: aws.String(z.name), Owner: &types.HostedZoneOwner{OwningAccount: aws.String(z.owner.id)}})
	}
	return out, nil
}

func (q *request) getZone(in *route53.GetHostedZoneInput) (*route53.GetHostedZoneOutput, error) {
	z, err := q.zone(in.Id)
	if err != nil {
		return nil, err
	}
	out := &route53.GetHostedZoneOutput{HostedZone: z.describe()}
	for _, v := range z.vpcs {
		out.VPCs = append(out.VPCs, types.VPC{VPCId: aws.String(v.ID), VPCRegion: types.VPCRegion(v.Region)})
	}
	return out, nil
}
