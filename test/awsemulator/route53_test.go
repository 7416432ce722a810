package awsemulator_test

import (
	"path"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
)

func zoneInput(name, reference, vpc string) *route53.CreateHostedZoneInput {
	return &route53.CreateHostedZoneInput{
		Name: aws.String(name), CallerReference: aws.String(reference),
		HostedZoneConfig: &types.HostedZoneConfig{PrivateZone: true},
		VPC:              &types.VPC{VPCId: aws.String(vpc), VPCRegion: "us-east-1"},
	}
}

func (a *account) zone(t *testing.T, name string) *string {
	t.Helper()
	made, err := a.dns.CreateHostedZone(t.Context(), zoneInput(name, name, a.vpc))
	must(t, err)
	return made.HostedZone.Id
}

func change(action types.ChangeAction, kind types.RRType, name, value string) types.Change {
	return types.Change{Action: action, ResourceRecordSet: &types.ResourceRecordSet{
		Name: aws.String(name), Type: kind, TTL: aws.Int64(10), ResourceRecords: []types.ResourceRecord{{Value: aws.String(value)}},
	}}
}

func (a *account) change(t *testing.T, zone *string, changes ...types.Change) error {
	t.Helper()
	_, err := a.dns.ChangeResourceRecordSets(t.Context(), &route53.ChangeResourceRecordSetsInput{HostedZoneId: zone, ChangeBatch: &types.ChangeBatch{Changes: changes}})
	return err
}

func (a *account) records(t *testing.T, zone *string) string {
	t.Helper()
	found, err := a.dns.ListResourceRecordSets(t.Context(), &route53.ListResourceRecordSetsInput{HostedZoneId: zone})
	must(t, err)
	var all []string
	for _, r := range found.ResourceRecordSets {
		if r.Type != types.RRTypeNs && r.Type != types.RRTypeSoa {
			all = append(all, string(r.Type)+" "+*r.Name+" "+*r.ResourceRecords[0].Value)
		}
	}
	return strings.Join(all, ", ")
}

func TestIDsOfHostedZonesBeginWithZ(t *testing.T) {
	a := newAccount(t)
	for _, name := range []string{"a.example.com", "b.example.com", "c.example.com"} {
		if id := path.Base(*a.zone(t, name)); !strings.HasPrefix(id, "Z") || len(id) < 10 {
			t.Errorf("id %s", id)
		}
	}
}

func TestHostedZonesConflict(t *testing.T) {
	a := newAccount(t)
	a.zone(t, "demo.hypershift.local")
	other := newAccount(t)
	for sentence, c := range map[string]struct {
		input *route53.CreateHostedZoneInput
		want  string
	}{
		"another name on the VPC is fine": {zoneInput("two.hypershift.local", "1", a.vpc), ""},
		"the same reference again":        {zoneInput("three.hypershift.local", "demo.hypershift.local", a.vpc), "HostedZoneAlreadyExists"},
		"the same name on the same VPC":   {zoneInput("demo.hypershift.local", "2", a.vpc), "ConflictingDomainExists"},
		"an unknown VPC":                  {zoneInput("four.hypershift.local", "3", "vpc-0"), "InvalidVPCId"},
		"a VPC of another account":        {zoneInput("five.hypershift.local", "4", other.vpc), "InvalidVPCId"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := a.dns.CreateHostedZone(t.Context(), c.input)
			refused(t, err, c.want)
		})
	}
}

func TestANewZoneHasItsSOA(t *testing.T) {
	a := newAccount(t)
	zone := a.zone(t, "demo.hypershift.local")
	found, err := a.dns.ListResourceRecordSets(t.Context(), &route53.ListResourceRecordSetsInput{
		HostedZoneId: zone, StartRecordName: aws.String("demo.hypershift.local"), StartRecordType: types.RRTypeSoa, MaxItems: aws.Int32(1),
	})
	must(t, err)
	equal(t, "fields of the SOA", len(strings.Fields(*found.ResourceRecordSets[0].ResourceRecords[0].Value)), 7)
}

func TestRecordsHaveRules(t *testing.T) {
	const api, apps = "api.demo.hypershift.local.", "*.apps.demo.hypershift.local."
	seed := []types.Change{change("CREATE", "CNAME", api, "a.test"), change("CREATE", "A", "ip.demo.hypershift.local", "10.0.0.1")}
	for sentence, c := range map[string]struct {
		changes []types.Change
		want    string
		records string
	}{
		"UPSERT replaces": {
			[]types.Change{change("UPSERT", "CNAME", api, "b.test")}, "",
			"CNAME " + api + " b.test, A ip.demo.hypershift.local. 10.0.0.1"},
		"UPSERT makes": {
			[]types.Change{change("UPSERT", "CNAME", apps, "b.test")}, "",
			"CNAME " + api + " a.test, CNAME \\052.apps.demo.hypershift.local. b.test, A ip.demo.hypershift.local. 10.0.0.1"},
		"names are the same with and without the dot, in any case": {
			[]types.Change{change("DELETE", "CNAME", "API.demo.hypershift.local", "a.test")}, "",
			"A ip.demo.hypershift.local. 10.0.0.1"},
		"CREATE of what is there":     {[]types.Change{change("CREATE", "CNAME", api, "b.test")}, "InvalidChangeBatch", ""},
		"A beside a CNAME":            {[]types.Change{change("UPSERT", "A", api, "10.0.0.1")}, "InvalidChangeBatch", ""},
		"CNAME beside an A":           {[]types.Change{change("UPSERT", "CNAME", "ip.demo.hypershift.local", "a.test")}, "InvalidChangeBatch", ""},
		"DELETE of what is not there": {[]types.Change{change("DELETE", "CNAME", apps, "a.test")}, "InvalidChangeBatch", ""},
		"DELETE with another value":   {[]types.Change{change("DELETE", "CNAME", api, "b.test")}, "InvalidChangeBatch", ""},
		"a name outside the zone":     {[]types.Change{change("UPSERT", "CNAME", "api.other.local", "b.test")}, "InvalidChangeBatch", ""},
		"a name that only ends alike": {[]types.Change{change("UPSERT", "CNAME", "xdemo.hypershift.local", "b.test")}, "InvalidChangeBatch", ""},
		"one bad change spoils the batch": {
			[]types.Change{change("UPSERT", "CNAME", apps, "b.test"), change("DELETE", "CNAME", api, "b.test")}, "InvalidChangeBatch", ""},
		"a wildcard is found under its escaped name": {
			[]types.Change{change("CREATE", "CNAME", apps, "a.test"), change("DELETE", "CNAME", "\\052.apps.demo.hypershift.local", "a.test")}, "",
			"CNAME " + api + " a.test, A ip.demo.hypershift.local. 10.0.0.1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			a := newAccount(t)
			zone := a.zone(t, "demo.hypershift.local")
			must(t, a.change(t, zone, seed...))
			before := a.records(t, zone)
			refused(t, a.change(t, zone, c.changes...), c.want)
			want := c.records
			if c.want != "" {
				want = before
			}
			equal(t, "records", a.records(t, zone), want)
		})
	}
}

func TestAZoneWithRecordsStays(t *testing.T) {
	a := newAccount(t)
	zone := a.zone(t, "demo.hypershift.local")
	record := change("CREATE", "CNAME", "api.demo.hypershift.local", "a.test")
	must(t, a.change(t, zone, record))
	_, err := a.dns.DeleteHostedZone(t.Context(), &route53.DeleteHostedZoneInput{Id: zone})
	refused(t, err, "HostedZoneNotEmpty")
	record.Action = "DELETE"
	must(t, a.change(t, zone, record))
	_, err = a.dns.DeleteHostedZone(t.Context(), &route53.DeleteHostedZoneInput{Id: zone})
	refused(t, err, "")
}

func TestAChangeIsPendingFirst(t *testing.T) {
	a := newAccount(t)
	zone := a.zone(t, "demo.hypershift.local")
	slowly(t)
	answer, err := a.dns.ChangeResourceRecordSets(t.Context(), &route53.ChangeResourceRecordSetsInput{HostedZoneId: zone, ChangeBatch: &types.ChangeBatch{
		Changes: []types.Change{change("UPSERT", "CNAME", "api.demo.hypershift.local", "a.test")},
	}})
	must(t, err)
	status := func() types.ChangeStatus {
		got, err := a.dns.GetChange(t.Context(), &route53.GetChangeInput{Id: answer.ChangeInfo.Id})
		must(t, err)
		return got.ChangeInfo.Status
	}
	equal(t, "at first", status(), types.ChangeStatusPending)
	instantly(t)
	equal(t, "later", status(), types.ChangeStatusInsync)
}

// CloudFormation and Terraform name the VPC alone, and wait for the change.
func TestAZoneWithAVPCIsPrivateWithoutTheFlag(t *testing.T) {
	a := newAccount(t)
	slowly(t)
	in := zoneInput("demo.example.com", "without-flag", a.vpc)
	in.HostedZoneConfig = nil
	made, err := a.dns.CreateHostedZone(t.Context(), in)
	must(t, err)
	equal(t, "private zone", made.HostedZone.Config.PrivateZone, true)
	found, err := a.dns.GetHostedZone(t.Context(), &route53.GetHostedZoneInput{Id: made.HostedZone.Id})
	must(t, err)
	equal(t, "number of VPCs", len(found.VPCs), 1)
	state, err := a.dns.GetChange(t.Context(), &route53.GetChangeInput{Id: made.ChangeInfo.Id})
	must(t, err)
	equal(t, "status of the change", state.ChangeInfo.Status, types.ChangeStatusPending)
}

func TestAZoneIsSharedAcrossAccounts(t *testing.T) {
	owner, customer := newAccount(t), newAccount(t)
	zone := owner.zone(t, "demo.hypershift.local")
	vpc := &types.VPC{VPCId: aws.String(customer.vpc), VPCRegion: "us-east-1"}
	associate := func() error {
		_, err := customer.dns.AssociateVPCWithHostedZone(t.Context(), &route53.AssociateVPCWithHostedZoneInput{HostedZoneId: zone, VPC: vpc})
		return err
	}
	seen := func() string {
		found, err := customer.dns.ListHostedZonesByVPC(t.Context(), &route53.ListHostedZonesByVPCInput{VPCId: vpc.VPCId, VPCRegion: vpc.VPCRegion})
		must(t, err)
		var all []string
		for _, z := range found.HostedZoneSummaries {
			all = append(all, *z.Name+" of "+*z.Owner.OwningAccount)
		}
		return strings.Join(all, ", ")
	}

	refused(t, associate(), "NotAuthorizedException")
	equal(t, "before", seen(), "")
	_, err := owner.dns.CreateVPCAssociationAuthorization(t.Context(), &route53.CreateVPCAssociationAuthorizationInput{HostedZoneId: zone, VPC: vpc})
	must(t, err)
	refused(t, associate(), "")
	equal(t, "after", seen(), "demo.hypershift.local. of "+owner.id)
	_, err = owner.dns.DeleteVPCAssociationAuthorization(t.Context(), &route53.DeleteVPCAssociationAuthorizationInput{HostedZoneId: zone, VPC: vpc})
	must(t, err)
}
