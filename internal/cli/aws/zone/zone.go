// Package zone resolves availability zones. A name such as us-east-1a is another zone in another account; an id such as use1-az1 is the
// same zone in all accounts (https://docs.aws.amazon.com/ram/latest/userguide/working-with-az-ids.html). Zones of two accounts are
// compared by id.
package zone

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// API is the part of EC2 that this package calls.
type API interface {
	DescribeAvailabilityZones(context.Context, *ec2.DescribeAvailabilityZonesInput, ...func(*ec2.Options)) (*ec2.DescribeAvailabilityZonesOutput, error)
}

// Zone is a zone of one account.
type Zone struct {
	Name, ID string
	// unusable is why no subnet of a cluster can be in the zone; empty if it can.
	unusable string
}

// String returns both names of the zone, such as us-east-1a (use1-az4).
func (z Zone) String() string {
	if z.ID == "" {
		return z.Name
	}
	return z.Name + " (" + z.ID + ")"
}

// List is the zones of an account in a region, by name.
type List []Zone

// idPattern is the form of zone ids. Names of zones begin with the whole name of the region, and do not have it. Local Zones and
// Wavelength Zones have longer ids, such as use1-bos1-az1.
var idPattern = regexp.MustCompile(`^[a-z]{2,5}[0-9]{1,2}(-[a-z0-9]+)*-az[0-9]{1,2}$`)

// IsID is true for the id of a zone.
func IsID(text string) bool { return idPattern.MatchString(text) }

// New returns the zones that EC2 has described.
func New(described []types.AvailabilityZone) (all List) {
	for _, d := range described {
		z := Zone{Name: aws.ToString(d.ZoneName), ID: aws.ToString(d.ZoneId)}
		kind := aws.ToString(d.ZoneType)
		switch {
		case kind != "" && kind != "availability-zone":
			// It has no network load balancers, NAT gateways or endpoints as a zone has.
			z.unusable = "is of the type " + kind + ", not availability-zone"
		case d.OptInStatus == types.AvailabilityZoneOptInStatusNotOptedIn:
			z.unusable = "is not enabled for this account"
		case d.State == types.AvailabilityZoneStateUnavailable || d.State == types.AvailabilityZoneStateImpaired:
			z.unusable = "has the state " + string(d.State)
		}
		all = append(all, z)
	}
	slices.SortFunc(all, func(a, b Zone) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Describe returns the zones that the account has in the region of the API.
func Describe(ctx context.Context, api API) (List, error) {
	answer, err := api.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return nil, fmt.Errorf("listing the availability zones: %w", err)
	}
	return New(answer.AvailabilityZones), nil
}

// String lists the zones with both names.
func (l List) String() string {
	var all []string
	for _, z := range l {
		all = append(all, z.String())
	}
	return strings.Join(all, ", ")
}

// Names returns the names of the zones.
func (l List) Names() (names []string) {
	for _, z := range l {
		names = append(names, z.Name)
	}
	return names
}

// Usable returns the zones in which subnets of a cluster can be.
func (l List) Usable() (usable List) {
	for _, z := range l {
		if z.unusable == "" {
			usable = append(usable, z)
		}
	}
	return usable
}

// Of returns the zones with these ids.
func (l List) Of(ids []string) (found List) {
	for _, z := range l {
		if z.ID != "" && slices.Contains(ids, z.ID) {
			found = append(found, z)
		}
	}
	return found
}

// Without returns the zones that do not have these ids.
func (l List) Without(ids []string) (rest List) {
	for _, z := range l {
		if !slices.Contains(ids, z.ID) {
			rest = append(rest, z)
		}
	}
	return rest
}

// Resolve returns the zones with these names or ids, in their order.
func (l List) Resolve(region string, given []string) (found List, _ error) {
	for i, text := range given {
		at := slices.IndexFunc(l, func(z Zone) bool { return z.Name == text || z.ID == text })
		if at < 0 {
			return nil, fmt.Errorf("zone %s does not exist in region %s for this account; it has %s", text, region, l.Usable())
		}
		if reason := l[at].unusable; reason != "" {
			return nil, fmt.Errorf("zone %s %s; region %s has %s", l[at], reason, region, l.Usable())
		}
		if earlier := slices.Index(found, l[at]); earlier >= 0 {
			return nil, fmt.Errorf("%s and %s are the same zone %s", given[earlier], given[i], l[at])
		}
		found = append(found, l[at])
	}
	return found, nil
}
