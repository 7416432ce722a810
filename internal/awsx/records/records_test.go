package records_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx/records"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const region = "us-east-1"

// zoneAccount is an account with a VPC, in which hosted zones are created.
type zoneAccount struct {
	*testenv.Env
	account *fakeaws.Account
	api     *route53.Client
	vpc     string
}

func newZoneAccount(t *testing.T) *zoneAccount {
	e := &zoneAccount{Env: testenv.New(t)}
	e.account = e.AWS.Account(testenv.Customer)
	e.api = records.NewClient(e.account.Config(region, ""))
	e.vpc = e.account.AddVPC(region, fakeaws.VPC{})
	return e
}

func (e *zoneAccount) zone(name string, vpcs ...string) string {
	seed := fakeaws.HostedZone{Name: name}
	for _, id := range vpcs {
		seed.VPCs = append(seed.VPCs, fakeaws.ZoneVPC{Region: region, ID: id})
	}
	return e.account.AddHostedZone(seed)
}

// stands lists the records of the zone, except for its own.
func (e *zoneAccount) stands(zone string) []string {
	e.T.Helper()
	out, err := e.api.ListResourceRecordSets(e.T.Context(), &route53.ListResourceRecordSetsInput{HostedZoneId: &zone})
	e.Must(err)
	var lines []string
	for _, r := range out.ResourceRecordSets {
		if r.Type != types.RRTypeNs && r.Type != types.RRTypeSoa {
			lines = append(lines, aws.ToString(r.Name)+" "+string(r.Type)+" "+aws.ToString(r.ResourceRecords[0].Value))
		}
	}
	slices.Sort(lines)
	return lines
}

func (e *zoneAccount) put(zone, name string, kind types.RRType, value string) {
	e.T.Helper()
	_, err := e.api.ChangeResourceRecordSets(e.T.Context(), &route53.ChangeResourceRecordSetsInput{HostedZoneId: &zone, ChangeBatch: &types.ChangeBatch{
		Changes: []types.Change{{Action: types.ChangeActionUpsert, ResourceRecordSet: &types.ResourceRecordSet{
			Name: &name, Type: kind, TTL: aws.Int64(60), ResourceRecords: []types.ResourceRecord{{Value: &value}}}}}}})
	e.Must(err)
}

func nobodys(context.Context, string) (bool, error) { return false, nil }

func others(_ context.Context, target string) (bool, error) {
	return strings.HasPrefix(target, "vpce-other"), nil
}

func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		seed func(*zoneAccount) string // returns the zone to be found
		want records.ZoneProblem
	}{
		"the zone of that name that the VPC resolves is found": {seed: func(e *zoneAccount) string {
			e.zone("demo.hypershift.local", e.account.AddVPC(region, fakeaws.VPC{CIDR: "10.1.0.0/16"}))
			e.zone("other.hypershift.local", e.vpc)
			return e.zone("demo.hypershift.local", e.vpc)
		}},
		"a VPC without a zone is an error": {seed: func(*zoneAccount) string { return "" }, want: records.ZoneMissing},
		"a public zone is not found": {seed: func(e *zoneAccount) string {
			e.zone("demo.hypershift.local")
			return ""
		}, want: records.ZoneMissing},
	} {
		t.Run(name, func(t *testing.T) {
			e := newZoneAccount(t)
			e.AWS.SetPageSize(1) // the zone is on a later page
			want := c.seed(e)
			got, err := records.Find(t.Context(), e.api, records.Where{Zone: "demo.hypershift.local", VPC: e.vpc, Region: region})
			check(t, got, want, err, c.want)
		})
	}
}

func TestGiven(t *testing.T) {
	for name, c := range map[string]struct {
		seed func(*zoneAccount) string
		want records.ZoneProblem
	}{
		"a private zone of the VPC is accepted": {seed: func(e *zoneAccount) string { return e.zone("demo.hypershift.local", e.vpc) }},
		"a zone that does not exist is missing": {seed: func(*zoneAccount) string { return "Z0" }, want: records.ZoneMissing},
		"a zone of another name is refused":     {seed: func(e *zoneAccount) string { return e.zone("other.hypershift.local", e.vpc) }, want: records.ZoneUnusable},
		"a public zone is refused":              {seed: func(e *zoneAccount) string { return e.zone("demo.hypershift.local") }, want: records.ZoneUnusable},
		"a zone of another VPC is refused":      {seed: func(e *zoneAccount) string { return e.zone("demo.hypershift.local", "vpc-9") }, want: records.ZoneUnusable},
	} {
		t.Run(name, func(t *testing.T) {
			e := newZoneAccount(t)
			want := c.seed(e)
			got, err := records.Given(t.Context(), e.api, want, records.Where{Zone: "demo.hypershift.local", VPC: e.vpc, Region: region})
			check(t, got, want, err, c.want)
		})
	}
}

func check(t *testing.T, got, want string, err error, problem records.ZoneProblem) {
	t.Helper()
	var zoneError *records.ZoneError
	switch errors.As(err, &zoneError); {
	case problem == "" && (err != nil || got != want):
		t.Errorf("got %q, %v, want %q", got, err, want)
	case problem != "" && (zoneError == nil || zoneError.Problem != problem):
		t.Errorf("got %q, %v, want %s", got, err, problem)
	}
}

func TestEnsureAndDelete(t *testing.T) {
	e := newZoneAccount(t)
	zone := e.zone("demo.hypershift.local", e.vpc)
	e.put(zone, "theirs.demo.hypershift.local", types.RRTypeA, "10.0.0.1")
	e.put(zone, "api.demo.hypershift.local", types.RRTypeA, "10.0.0.2") // in the way
	k := records.NewManager(e.api, e.Clock, zone)
	want := []records.Record{
		{Name: "*.apps.demo.hypershift.local", Target: "vpce-1.example.com"},
		{Name: "api.demo.hypershift.local", Target: "vpce-1.example.com"},
	}
	e.AWS.ForgetCalls()
	for range 3 {
		e.Must(k.Ensure(t.Context(), want, nobodys))
		k.Invalidate(0)
	}
	if got := fakeaws.Count(e.AWS.Calls())["route53:ChangeResourceRecordSets"]; got != 1 {
		t.Errorf("%d writes, want one batch and then silence", got)
	}
	stands := []string{
		`\052.apps.demo.hypershift.local. CNAME vpce-1.example.com`, "api.demo.hypershift.local. CNAME vpce-1.example.com", "theirs.demo.hypershift.local. A 10.0.0.1",
	}
	if got := e.stands(zone); !slices.Equal(got, stands) {
		t.Errorf("got %v, want %v", got, stands)
	}

	names := []string{"*.apps.demo.hypershift.local", "api.demo.hypershift.local"}
	e.Must(k.Delete(t.Context(), names, nobodys))
	if got := e.stands(zone); !slices.Equal(got, stands[2:]) {
		t.Errorf("after deletion: %v, want %v", got, stands[2:])
	}
	if err := k.Delete(t.Context(), names, nobodys); err != nil {
		t.Errorf("deleting what is gone: %v", err)
	}
}

func TestARecordInUseByAnotherClusterIsNotChanged(t *testing.T) {
	e := newZoneAccount(t)
	zone := e.zone("demo.hypershift.local", e.vpc)
	e.put(zone, "api.demo.hypershift.local", types.RRTypeCname, "vpce-other.example.com")
	k := records.NewManager(e.api, e.Clock, zone)
	var claimed *records.ClaimedError
	if err := k.Ensure(t.Context(), []records.Record{{Name: "api.demo.hypershift.local", Target: "vpce-1.example.com"}}, others); !errors.As(err, &claimed) {
		t.Errorf("got %v, want a claim", err)
	}
	if err := k.Delete(t.Context(), []string{"api.demo.hypershift.local"}, others); err != nil {
		t.Error(err)
	}
	if got := e.stands(zone); len(got) != 1 {
		t.Errorf("it is gone: %v", got)
	}
}

func TestADeletedZoneHasNoRecords(t *testing.T) {
	e := newZoneAccount(t)
	k := records.NewManager(e.api, e.Clock, "Z0")
	if err := k.Delete(t.Context(), []string{"api.demo.hypershift.local"}, nobodys); err != nil {
		t.Error(err)
	}
}
