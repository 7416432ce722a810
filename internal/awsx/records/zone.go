package records

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// A ZoneProblem is the reason why a hosted zone cannot be used.
type ZoneProblem string

// The problems of a zone, as reasons of a condition.
const (
	ZoneMissing   ZoneProblem = hyperv1.HostedZoneNotFoundReason
	ZoneAmbiguous ZoneProblem = hyperv1.HostedZoneAmbiguousReason
	ZoneUnusable  ZoneProblem = hyperv1.HostedZoneUnusableReason
)

// ZoneError names the change that the owner of the VPC has to make.
type ZoneError struct {
	Problem ZoneProblem
	Message string
}

func (e *ZoneError) Error() string { return e.Message }

func zoneError(p ZoneProblem, format string, args ...any) error {
	return &ZoneError{Problem: p, Message: fmt.Sprintf(format, args...)}
}

// Where is the VPC that has to resolve the records.
type Where struct{ Zone, VPC, Region string }

// Zone is a private hosted zone. Its name is canonical.
type Zone struct{ ID, Name string }

// ZoneLister lists the zones of a VPC.
type ZoneLister interface {
	ListHostedZonesByVPC(context.Context, *route53.ListHostedZonesByVPCInput, ...func(*route53.Options)) (*route53.ListHostedZonesByVPCOutput, error)
}

// ZonesOf returns the private zones that a VPC resolves, of all accounts.
func ZonesOf(ctx context.Context, api ZoneLister, vpc, region string) (all []Zone, _ error) {
	in := &route53.ListHostedZonesByVPCInput{VPCId: &vpc, VPCRegion: types.VPCRegion(region)}
	for {
		out, err := api.ListHostedZonesByVPC(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("listing hosted zones of %s: %w", vpc, err)
		}
		for _, z := range out.HostedZoneSummaries {
			all = append(all, Zone{ID: ZoneID(z.HostedZoneId), Name: Canonical(aws.ToString(z.Name))})
		}
		if aws.ToString(out.NextToken) == "" {
			return all, nil
		}
		in.NextToken = out.NextToken
	}
}

// Find returns the id of the private zone of that name that the VPC resolves.
// The name alone would not do: an account can have many zones of one name.
func Find(ctx context.Context, api API, w Where) (string, error) {
	zones, err := ZonesOf(ctx, api, w.VPC, w.Region)
	if err != nil {
		return "", err
	}
	var found []string
	for _, z := range zones {
		if z.Name == Canonical(w.Zone) {
			found = append(found, z.ID)
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 0:
		return "", zoneError(ZoneMissing, "%s has no private hosted zone %s; create the zone, or associate it with the VPC", w.VPC, w.Zone)
	case 1:
		return found[0], nil
	}
	return "", zoneError(ZoneAmbiguous, "%s has several private hosted zones %s: %s; keep one", w.VPC, w.Zone, strings.Join(found, ", "))
}

// Given returns the id of a zone that the user named, after checking that the VPC
// would resolve records in it.
func Given(ctx context.Context, api API, zoneID string, w Where) (string, error) {
	out, err := api.GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: &zoneID})
	if awsx.IsNotFound(err) {
		return "", zoneError(ZoneMissing, "hosted zone %s does not exist", zoneID)
	}
	if err != nil {
		return "", fmt.Errorf("reading hosted zone %s: %w", zoneID, err)
	}
	name := Canonical(aws.ToString(out.HostedZone.Name))
	private := out.HostedZone.Config != nil && out.HostedZone.Config.PrivateZone
	resolves := slices.ContainsFunc(out.VPCs, func(v types.VPC) bool { return aws.ToString(v.VPCId) == w.VPC })
	switch {
	case name != Canonical(w.Zone):
		return "", zoneError(ZoneUnusable, "hosted zone %s is %s; it has to be %s", zoneID, name, w.Zone)
	case !private:
		return "", zoneError(ZoneUnusable, "hosted zone %s is public; the records belong into a private one", zoneID)
	case !resolves:
		return "", zoneError(ZoneUnusable, "hosted zone %s is not associated with %s", zoneID, w.VPC)
	}
	return zoneID, nil
}

// ZoneID is the id of a zone without the path that some calls put before it.
func ZoneID(s *string) string { return strings.TrimPrefix(aws.ToString(s), "/hostedzone/") }
