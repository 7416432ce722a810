package fakeaws

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func init() {
	register(EC2,
		read("DescribeAvailabilityZones", (*request).describeAvailabilityZones, "ZoneNames", "ZoneIds"),
	)
}

// zone is an availability zone. Its name is an alias of one account; its id means
// the same place in all of them.
type zone struct{ name, id string }

// availabilityZones lists an account's zones in a region. Accounts with ids that end
// in different digits have their names in different order.
func (a *Account) availabilityZones(region string) []zone {
	n := 3
	if region == "us-east-1" {
		n = 6
	}
	shift := int(a.id[len(a.id)-1] - '0')
	zones := make([]zone, n)
	for i := range zones {
		zones[i] = zone{name: region + string(rune('a'+i)), id: fmt.Sprintf("%s-az%d", shortRegion(region), (i+shift)%n+1)}
	}
	return zones
}

// shortRegion is the region as zone ids have it: us-east-1 is use1, ap-southeast-2 apse2.
func shortRegion(region string) string {
	part := strings.Split(region, "-")
	direction := strings.NewReplacer("north", "n", "south", "s", "east", "e", "west", "w", "central", "c").Replace(part[1])
	return part[0] + direction + part[len(part)-1]
}

// ZoneID translates a zone name of this account to the zone's id.
func (a *Account) ZoneID(name string) string {
	z, _ := a.zone(strings.TrimRight(name, "abcdef"), name)
	return z.id
}

// ZoneName translates the id of a zone in the region to its name in this account.
func (a *Account) ZoneName(region, id string) string {
	for _, z := range a.availabilityZones(region) {
		if z.id == id {
			return z.name
		}
	}
	return ""
}

func (a *Account) zone(region, name string) (zone, bool) {
	zones := a.availabilityZones(region)
	i := slices.IndexFunc(zones, func(z zone) bool { return z.name == name })
	if i < 0 {
		return zone{}, false
	}
	return zones[i], true
}

func (q *request) describeAvailabilityZones(in *ec2.DescribeAvailabilityZonesInput) (*ec2.DescribeAvailabilityZonesOutput, error) {
	out := &ec2.DescribeAvailabilityZonesOutput{}
	for _, z := range q.account.availabilityZones(q.region.name) {
		named := len(in.ZoneNames)+len(in.ZoneIds) > 0
		if named && !slices.Contains(in.ZoneNames, z.name) && !slices.Contains(in.ZoneIds, z.id) {
			continue
		}
		out.AvailabilityZones = append(out.AvailabilityZones, types.AvailabilityZone{
			ZoneName: aws.String(z.name), ZoneId: aws.String(z.id), RegionName: aws.String(q.region.name),
			State: types.AvailabilityZoneStateAvailable, ZoneType: aws.String("availability-zone"),
			OptInStatus: types.AvailabilityZoneOptInStatusOptInNotRequired,
		})
	}
	if len(out.AvailabilityZones) < max(len(in.ZoneNames), len(in.ZoneIds)) {
		return nil, ec2Error("InvalidParameterValue", "Invalid availability zone")
	}
	return out, nil
}
