package awscontract

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
)

func change(action types.ChangeAction, kind types.RRType, name, value string) types.Change {
	return types.Change{Action: action, ResourceRecordSet: &types.ResourceRecordSet{
		Name: &name, Type: kind, TTL: aws.Int64(300), ResourceRecords: []types.ResourceRecord{{Value: &value}}}}
}

func (r *run) change(changes ...types.Change) error {
	_, err := r.consumer.route53.ChangeResourceRecordSets(r.ctx, &route53.ChangeResourceRecordSetsInput{HostedZoneId: &r.hostedZone, ChangeBatch: &types.ChangeBatch{Changes: changes}})
	return err
}

// record makes a CNAME and takes it away after the case.
func (r *run) record(name, value string) {
	r.ok("UPSERT "+name, r.change(change(types.ChangeActionUpsert, types.RRTypeCname, name, value)))
	r.later(func() {
		for _, s := range r.listed() {
			if s.Type != types.RRTypeNs && s.Type != types.RRTypeSoa {
				_ = r.change(types.Change{Action: types.ChangeActionDelete, ResourceRecordSet: &s})
			}
		}
	})
}

func (r *run) listed() []types.ResourceRecordSet {
	var all []types.ResourceRecordSet
	pages := route53.NewListResourceRecordSetsPaginator(r.consumer.route53, &route53.ListResourceRecordSetsInput{HostedZoneId: &r.hostedZone})
	for pages.HasMorePages() {
		page, err := pages.NextPage(r.ctx)
		r.ok("ListResourceRecordSets", err)
		all = append(all, page.ResourceRecordSets...)
	}
	return all
}

func recordNames(sets []types.ResourceRecordSet) []string {
	var out []string
	for _, s := range sets {
		out = append(out, *s.Name+" "+string(s.Type))
	}
	return out
}

var recordCases = []contract{
	{name: "the private zones of a VPC are found by the VPC", steps: func(r *run) {
		out, err := r.consumer.route53.ListHostedZonesByVPC(r.ctx, &route53.ListHostedZonesByVPCInput{VPCId: &r.vpc, VPCRegion: types.VPCRegion(region)})
		r.ok("ListHostedZonesByVPC", err)
		found := slices.ContainsFunc(out.HostedZoneSummaries, func(z types.HostedZoneSummary) bool {
			return *z.HostedZoneId == r.hostedZone && *z.Name == r.domain+"."
		})
		r.equal("the zone is there, its id bare and its name with a dot", found, true)
		out, err = r.consumer.route53.ListHostedZonesByVPC(r.ctx, &route53.ListHostedZonesByVPCInput{VPCId: &r.other, VPCRegion: types.VPCRegion(region)})
		r.ok("ListHostedZonesByVPC", err)
		r.equal("zones of another VPC", len(out.HostedZoneSummaries), 0)
	}},
	{name: "a zone is listed with an id behind /hostedzone/", steps: func(r *run) {
		out, err := r.consumer.route53.ListHostedZones(r.ctx, &route53.ListHostedZonesInput{})
		r.ok("ListHostedZones", err)
		found := slices.ContainsFunc(out.HostedZones, func(z types.HostedZone) bool { return *z.Id == "/hostedzone/"+r.hostedZone && z.Config.PrivateZone })
		r.equal("the private zone is there", found, true)
	}},
	{name: "a zone names its VPCs", steps: func(r *run) {
		out, err := r.consumer.route53.GetHostedZone(r.ctx, &route53.GetHostedZoneInput{Id: &r.hostedZone})
		r.ok("GetHostedZone", err)
		r.equal("VPCs", len(out.VPCs), 1)
		r.equal("VPC", aws.ToString(out.VPCs[0].VPCId), r.vpc)
	}},
	{name: "an unknown zone is NoSuchHostedZone, whatever is asked of it", steps: func(r *run) {
		id := aws.String("Z0000000000000000000")
		_, err := r.consumer.route53.GetHostedZone(r.ctx, &route53.GetHostedZoneInput{Id: id})
		r.refused("GetHostedZone", err, "NoSuchHostedZone")
		_, err = r.consumer.route53.ListResourceRecordSets(r.ctx, &route53.ListResourceRecordSetsInput{HostedZoneId: id})
		r.refused("ListResourceRecordSets", err, "NoSuchHostedZone")
		_, err = r.consumer.route53.ChangeResourceRecordSets(r.ctx, &route53.ChangeResourceRecordSetsInput{HostedZoneId: id, ChangeBatch: &types.ChangeBatch{
			Changes: []types.Change{change(types.ChangeActionUpsert, types.RRTypeCname, "a."+r.domain, "b.example.com")}}})
		r.refused("ChangeResourceRecordSets", err, "NoSuchHostedZone")
	}},
	{name: "a new zone has its NS and SOA records", steps: func(r *run) {
		r.equal("records", recordNames(r.listed()), []string{r.domain + ". NS", r.domain + ". SOA"})
	}},
	{name: "a wildcard is listed as \\052, names in lower case with a dot at the end", steps: func(r *run) {
		// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/DomainNameFormat.html
		r.record("*.Apps."+r.domain, "a.example.com")
		r.equal("listed", slices.Contains(recordNames(r.listed()), `\052.apps.`+r.domain+". CNAME"), true)
	}},
	{name: "records are sorted by labels from the right, and a list can begin anywhere", steps: func(r *run) {
		r.record("b."+r.domain, "x.example.com")
		r.record("z.a."+r.domain, "x.example.com")
		r.record("a."+r.domain, "x.example.com")
		all := recordNames(r.listed())
		r.equal("order", all[2:], []string{"a." + r.domain + ". CNAME", "z.a." + r.domain + ". CNAME", "b." + r.domain + ". CNAME"})
		out, err := r.consumer.route53.ListResourceRecordSets(r.ctx, &route53.ListResourceRecordSetsInput{HostedZoneId: &r.hostedZone, StartRecordName: aws.String("z.a." + r.domain), StartRecordType: types.RRTypeCname, MaxItems: aws.Int32(1)})
		r.ok("ListResourceRecordSets", err)
		r.equal("from z.a", recordNames(out.ResourceRecordSets), []string{"z.a." + r.domain + ". CNAME"})
		r.equal("truncated", out.IsTruncated, true)
		r.equal("next", aws.ToString(out.NextRecordName), "b."+r.domain+".")
	}},
	{name: "UPSERT makes a record and replaces it", steps: func(r *run) {
		r.record("a."+r.domain, "one.example.com")
		r.record("a."+r.domain, "two.example.com")
		all := r.listed()
		r.equal("records", len(all), 3)
		r.equal("value", *all[2].ResourceRecords[0].Value, "two.example.com")
	}},
	{name: "CREATE of a record that exists is refused", steps: func(r *run) {
		r.record("a."+r.domain, "one.example.com")
		r.refused("CREATE", r.change(change(types.ChangeActionCreate, types.RRTypeCname, "a."+r.domain, "one.example.com")), "InvalidChangeBatch")
	}},
	{name: "DELETE wants the record exactly as it is", steps: func(r *run) {
		r.record("a."+r.domain, "one.example.com")
		r.refused("another value", r.change(change(types.ChangeActionDelete, types.RRTypeCname, "a."+r.domain, "two.example.com")), "InvalidChangeBatch")
		ttl := change(types.ChangeActionDelete, types.RRTypeCname, "a."+r.domain, "one.example.com")
		ttl.ResourceRecordSet.TTL = aws.Int64(60)
		r.refused("another TTL", r.change(ttl), "InvalidChangeBatch")
		r.ok("as it is", r.change(change(types.ChangeActionDelete, types.RRTypeCname, "a."+r.domain, "one.example.com")))
		r.refused("a second time", r.change(change(types.ChangeActionDelete, types.RRTypeCname, "a."+r.domain, "one.example.com")), "InvalidChangeBatch")
	}},
	{name: "one wrong change refuses the batch", steps: func(r *run) {
		r.refused("batch", r.change(
			change(types.ChangeActionUpsert, types.RRTypeCname, "a."+r.domain, "one.example.com"),
			change(types.ChangeActionDelete, types.RRTypeCname, "b."+r.domain, "one.example.com")), "InvalidChangeBatch")
		r.equal("records", len(r.listed()), 2)
	}},
	{name: "a CNAME shares its name with nothing", steps: func(r *run) {
		r.record("a."+r.domain, "one.example.com")
		r.refused("A beside CNAME", r.change(change(types.ChangeActionCreate, types.RRTypeA, "a."+r.domain, "10.0.0.1")), "InvalidChangeBatch")
		r.refused("CNAME of the zone", r.change(change(types.ChangeActionCreate, types.RRTypeCname, r.domain, "one.example.com")), "InvalidChangeBatch")
	}},
	{name: "a record outside of the zone is refused", steps: func(r *run) {
		r.refused("UPSERT", r.change(change(types.ChangeActionUpsert, types.RRTypeCname, "a.example.org", "one.example.com")), "InvalidChangeBatch")
	}},
	{name: "a change is PENDING, then INSYNC", steps: func(r *run) {
		out, err := r.consumer.route53.ChangeResourceRecordSets(r.ctx, &route53.ChangeResourceRecordSetsInput{HostedZoneId: &r.hostedZone, ChangeBatch: &types.ChangeBatch{
			Changes: []types.Change{change(types.ChangeActionUpsert, types.RRTypeTxt, "t."+r.domain, `"x"`)}}})
		r.ok("ChangeResourceRecordSets", err)
		r.later(func() { _ = r.change(change(types.ChangeActionDelete, types.RRTypeTxt, "t."+r.domain, `"x"`)) })
		r.equal("status", out.ChangeInfo.Status, types.ChangeStatusPending)
		r.becomes("the change is INSYNC", func() bool {
			got, err := r.consumer.route53.GetChange(r.ctx, &route53.GetChangeInput{Id: out.ChangeInfo.Id})
			return err == nil && got.ChangeInfo.Status == types.ChangeStatusInsync
		})
	}},
}
