package records_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx/records"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

const region = "us-east-1"

type testEnv struct {
	t       *testing.T
	cloud   *fakeaws.Cloud
	account *fakeaws.Account
	api     *route53.Client
	vpc     string
	clock   *clocktesting.FakeClock
}

func newTestEnv(t *testing.T) *testEnv {
	w := &testEnv{t: t, clock: clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0))}
	w.cloud = fakeaws.New(w.clock).FailOn(t)
	w.account = w.cloud.Account("222222222222")
	w.api = records.NewClient(w.account.Config(region, ""))
	w.vpc = w.account.AddVPC(region, fakeaws.VPC{})
	return w
}

func (w *testEnv) zone(name string, vpcs ...string) string {
	seed := fakeaws.HostedZone{Name: name}
	for _, id := range vpcs {
		seed.VPCs = append(seed.VPCs, fakeaws.ZoneVPC{Region: region, ID: id})
	}
	return w.account.AddHostedZone(seed)
}

// stands lists the records of the zone, except for its own.
func (w *testEnv) stands(zone string) []string {
	w.t.Helper()
	out, err := w.api.ListResourceRecordSets(w.t.Context(), &route53.ListResourceRecordSetsInput{HostedZoneId: &zone})
	if err != nil {
		w.t.Fatal(err)
	}
	var lines []string
	for _, r := range out.ResourceRecordSets {
		if r.Type != types.RRTypeNs && r.Type != types.RRTypeSoa {
			lines = append(lines, aws.ToString(r.Name)+" "+string(r.Type)+" "+aws.ToString(r.ResourceRecords[0].Value))
		}
	}
	slices.Sort(lines)
	return lines
}

func (w *testEnv) put(zone, name string, kind types.RRType, value string) {
	w.t.Helper()
	_, err := w.api.ChangeResourceRecordSets(w.t.Context(), &route53.ChangeResourceRecordSetsInput{HostedZoneId: &zone, ChangeBatch: &types.ChangeBatch{
		Changes: []types.Change{{Action: types.ChangeActionUpsert, ResourceRecordSet: &types.ResourceRecordSet{
			Name: &name, Type: kind, TTL: aws.Int64(60), ResourceRecords: []types.ResourceRecord{{Value: &value}}}}}}})
	if err != nil {
		w.t.Fatal(err)
	}
}

func nobodys(context.Context, string) (bool, error) { return false, nil }

func others(_ context.Context, target string) (bool, error) {
	return strings.HasPrefix(target, "vpce-other"), nil
}

func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		seed func(*testEnv) string // returns the zone to be found
		want records.ZoneProblem
	}{
		"the zone of that name that the VPC resolves is found": {seed: func(w *testEnv) string {
			w.zone("demo.hypershift.local", w.account.AddVPC(region, fakeaws.VPC{CIDR: "10.1.0.0/16"}))
			w.zone("other.hypershift.local", w.vpc)
			return w.zone("demo.hypershift.local", w.vpc)
		}},
		"a VPC without a zone is an error": {seed: func(*testEnv) string { return "" }, want: records.ZoneMissing},
		"a public zone is not found": {seed: func(w *testEnv) string {
			w.zone("demo.hypershift.local")
			return ""
		}, want: records.ZoneMissing},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			w.cloud.SetPageSize(1) // the zone is on a later page
			want := c.seed(w)
			got, err := records.Find(t.Context(), w.api, records.Where{Zone: "demo.hypershift.local", VPC: w.vpc, Region: region})
			check(t, got, want, err, c.want)
		})
	}
}

func TestGiven(t *testing.T) {
	for name, c := range map[string]struct {
		seed func(*testEnv) string
		want records.ZoneProblem
	}{
		"a private zone of the VPC is accepted": {seed: func(w *testEnv) string { return w.zone("demo.hypershift.local", w.vpc) }},
		"a zone that does not exist is missing": {seed: func(*testEnv) string { return "Z0" }, want: records.ZoneMissing},
		"a zone of another name is refused":     {seed: func(w *testEnv) string { return w.zone("other.hypershift.local", w.vpc) }, want: records.ZoneUnusable},
		"a public zone is refused":              {seed: func(w *testEnv) string { return w.zone("demo.hypershift.local") }, want: records.ZoneUnusable},
		"a zone of another VPC is refused":      {seed: func(w *testEnv) string { return w.zone("demo.hypershift.local", "vpc-9") }, want: records.ZoneUnusable},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			want := c.seed(w)
			got, err := records.Given(t.Context(), w.api, want, records.Where{Zone: "demo.hypershift.local", VPC: w.vpc, Region: region})
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
	w := newTestEnv(t)
	zone := w.zone("demo.hypershift.local", w.vpc)
	w.put(zone, "theirs.demo.hypershift.local", types.RRTypeA, "10.0.0.1")
	w.put(zone, "api.demo.hypershift.local", types.RRTypeA, "10.0.0.2") // in the way
	k := records.NewManager(w.api, w.clock, zone)
	want := []records.Record{
		{Name: "*.apps.demo.hypershift.local", Target: "vpce-1.example.com"},
		{Name: "api.demo.hypershift.local", Target: "vpce-1.example.com"},
	}
	w.cloud.ForgetCalls()
	for range 3 {
		if err := k.Ensure(t.Context(), want, nobodys); err != nil {
			t.Fatal(err)
		}
		k.Invalidate(0)
	}
	if got := fakeaws.Count(w.cloud.Calls())["route53:ChangeResourceRecordSets"]; got != 1 {
		t.Errorf("%d writes, want one batch and then silence", got)
	}
	stands := []string{
		`\052.apps.demo.hypershift.local. CNAME vpce-1.example.com`, "api.demo.hypershift.local. CNAME vpce-1.example.com", "theirs.demo.hypershift.local. A 10.0.0.1",
	}
	if got := w.stands(zone); !slices.Equal(got, stands) {
		t.Errorf("got %v, want %v", got, stands)
	}

	names := []string{"*.apps.demo.hypershift.local", "api.demo.hypershift.local"}
	if err := k.Delete(t.Context(), names, nobodys); err != nil {
		t.Fatal(err)
	}
	if got := w.stands(zone); !slices.Equal(got, stands[2:]) {
		t.Errorf("after deletion: %v, want %v", got, stands[2:])
	}
	if err := k.Delete(t.Context(), names, nobodys); err != nil {
		t.Errorf("deleting what is gone: %v", err)
	}
}

func TestARecordInUseByAnotherClusterIsNotChanged(t *testing.T) {
	w := newTestEnv(t)
	zone := w.zone("demo.hypershift.local", w.vpc)
	w.put(zone, "api.demo.hypershift.local", types.RRTypeCname, "vpce-other.example.com")
	k := records.NewManager(w.api, w.clock, zone)
	var claimed *records.ClaimedError
	if err := k.Ensure(t.Context(), []records.Record{{Name: "api.demo.hypershift.local", Target: "vpce-1.example.com"}}, others); !errors.As(err, &claimed) {
		t.Errorf("got %v, want a claim", err)
	}
	if err := k.Delete(t.Context(), []string{"api.demo.hypershift.local"}, others); err != nil {
		t.Error(err)
	}
	if got := w.stands(zone); len(got) != 1 {
		t.Errorf("it is gone: %v", got)
	}
}

func TestADeletedZoneHasNoRecords(t *testing.T) {
	w := newTestEnv(t)
	k := records.NewManager(w.api, w.clock, "Z0")
	if err := k.Delete(t.Context(), []string{"api.demo.hypershift.local"}, nobodys); err != nil {
		t.Error(err)
	}
}
