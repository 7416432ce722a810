package fakeaws

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

func init() {
	register(Route53,
		read("ListResourceRecordSets", (*request).listRecords, "HostedZoneId", "StartRecordName", "StartRecordType", "MaxItems"),
		write("ChangeResourceRecordSets", (*request).changeRecords, "HostedZoneId", "ChangeBatch"),
		read("GetChange", (*request).getChange, "Id"),
	)
}

// recordKey is unique among the simple records of a zone.
type recordKey struct {
	name string // canonical
	kind types.RRType
}

func record(name string, kind types.RRType, ttl int64, values ...string) types.ResourceRecordSet {
	r := types.ResourceRecordSet{Name: aws.String(name), Type: kind, TTL: aws.Int64(ttl)}
	for _, v := range values {
		r.ResourceRecords = append(r.ResourceRecords, types.ResourceRecord{Value: aws.String(v)})
	}
	return r
}

// canonicalName is a name as Route 53 shows it: lower case, with the final dot, and
// a wildcard written \052 however it was given.
func canonicalName(name string) string {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	return strings.ReplaceAll(name, "*", `\052`) + "."
}

// byName sorts as Route 53 does, by labels from the right: example.com. before a.example.com.
func byName(a, b recordKey) int {
	la, lb := strings.Split(a.name, "."), strings.Split(b.name, ".")
	slices.Reverse(la)
	slices.Reverse(lb)
	return cmp.Or(slices.Compare(la, lb), cmp.Compare(a.kind, b.kind))
}

// put keeps a copy: the record is its caller's.
func (z *hostedZone) put(r types.ResourceRecordSet) {
	key := recordKey{canonicalName(*r.Name), r.Type}
	r = record(key.name, key.kind, *r.TTL, valuesOf(r)...)
	if _, ok := z.records[key]; !ok {
		i, _ := slices.BinarySearchFunc(z.order, key, byName)
		z.order = slices.Insert(z.order, i, key)
	}
	z.records[key] = r
}

func (z *hostedZone) take(key recordKey) {
	delete(z.records, key)
	z.order = slices.DeleteFunc(z.order, func(k recordKey) bool { return k == key })
}

// maxRecords is the largest page of records.
const maxRecords = 300

func (q *request) listRecords(in *route53.ListResourceRecordSetsInput) (*route53.ListResourceRecordSetsOutput, error) {
	z, err := q.zone(in.HostedZoneId)
	if err != nil {
		return nil, err
	}
	if in.StartRecordType != "" && in.StartRecordName == nil {
		return nil, modelled(http.StatusBadRequest, &types.InvalidInput{Message: aws.String("You must specify a record name when you specify a record type")})
	}
	from := 0
	if in.StartRecordName != nil {
		from, _ = slices.BinarySearchFunc(z.order, recordKey{canonicalName(*in.StartRecordName), in.StartRecordType}, byName)
	}
	n := min(int(aws.ToInt32(cmp.Or(in.MaxItems, aws.Int32(maxRecords)))), q.cloud.pageSize, maxRecords)
	out := &route53.ListResourceRecordSetsOutput{MaxItems: aws.Int32(int32(n))}
	for _, key := range z.order[from:] {
		if len(out.ResourceRecordSets) == n {
			out.IsTruncated, out.NextRecordName, out.NextRecordType = true, aws.String(key.name), key.kind
			break
		}
		r := z.records[key]
		out.ResourceRecordSets = append(out.ResourceRecordSets, record(key.name, key.kind, *r.TTL, valuesOf(r)...))
	}
	return out, nil
}

// changeRecords applies the whole batch or none of it, and names all of its errors.
func (q *request) changeRecords(in *route53.ChangeResourceRecordSetsInput) (*route53.ChangeResourceRecordSetsOutput, error) {
	z, err := q.zone(in.HostedZoneId)
	if err != nil {
		return nil, err
	}
	if len(in.ChangeBatch.Changes) > 1000 {
		return nil, modelled(http.StatusBadRequest, &types.InvalidChangeBatch{Message: aws.String("Number of records limit of 1000 exceeded.")})
	}
	after := &hostedZone{name: z.name, records: maps.Clone(z.records), order: slices.Clone(z.order)}
	touched := map[recordKey]bool{}
	var wrong []string
	for _, c := range in.ChangeBatch.Changes {
		if err := q.simple(c.ResourceRecordSet); err != nil {
			return nil, err
		}
		key := recordKey{canonicalName(*c.ResourceRecordSet.Name), c.ResourceRecordSet.Type}
		if touched[key] && c.Action != types.ChangeActionDelete && after.has(key) {
			wrong = append(wrong, fmt.Sprintf("The request contains an invalid set of changes for a resource record set '%s %s'", key.kind, key.name))
			continue
		}
		touched[key] = true
		if problem := after.apply(c.Action, key, *c.ResourceRecordSet); problem != "" {
			wrong = append(wrong, problem)
		}
	}
	if len(wrong) > 0 {
		return nil, modelled(http.StatusBadRequest, &types.InvalidChangeBatch{
			Message: aws.String("[" + strings.Join(wrong, ", ") + "]"), Messages: wrong})
	}
	z.records, z.order = after.records, after.order
	q.cloud.sequence++
	id := fmt.Sprintf("C%019d", q.cloud.sequence)
	q.cloud.changes[id] = q.now
	return &route53.ChangeResourceRecordSetsOutput{ChangeInfo: q.change(id)}, nil
}

func (z *hostedZone) has(key recordKey) bool { _, ok := z.records[key]; return ok }

// simple refuses records that Route 53 would refuse, and reports records that the fake does not serve.
func (q *request) simple(r *types.ResourceRecordSet) error {
	if r.AliasTarget != nil || r.SetIdentifier != nil || r.HealthCheckId != nil || r.TrafficPolicyInstanceId != nil {
		q.misuse("%s: only simple records are supported, not %s", q.operation, aws.ToString(r.Name))
	}
	if r.TTL == nil || len(r.ResourceRecords) == 0 {
		return modelled(http.StatusBadRequest, &types.InvalidInput{Message: aws.String("Invalid request: Expected exactly one of [AliasTarget, all of [TTL, and ResourceRecords], or TrafficPolicyInstanceId], but found none in Change with [Name=" + *r.Name + "]")})
	}
	return nil
}

// apply makes one change and returns its error, or "".
func (z *hostedZone) apply(action types.ChangeAction, key recordKey, r types.ResourceRecordSet) string {
	old, exists := z.records[key]
	what := fmt.Sprintf("resource record set [name='%s', type='%s']", key.name, key.kind)
	switch {
	case key.name != z.name && !strings.HasSuffix(key.name, "."+z.name):
		return fmt.Sprintf("RRSet with DNS name %s is not permitted in zone %s", key.name, z.name)
	case action == types.ChangeActionDelete && !exists:
		return "Tried to delete " + what + " but it was not found"
	case action == types.ChangeActionDelete && !same(old, r):
		return "Tried to delete " + what + " but the values provided do not match the current values"
	case action == types.ChangeActionDelete && key.name == z.name && (key.kind == types.RRTypeNs || key.kind == types.RRTypeSoa):
		return fmt.Sprintf("A HostedZone must contain at least one %s record for the zone itself.", key.kind)
	case action == types.ChangeActionDelete:
		z.take(key)
		return ""
	case action == types.ChangeActionCreate && exists:
		return "Tried to create " + what + " but it already exists"
	case !hasAddresses(r):
		return strings.Trim(awsrules.Get(addressRules[key.kind]).Text(key.name), "[]")
	case key.kind == types.RRTypeCname && key.name == z.name:
		return fmt.Sprintf("RRSet of type CNAME with DNS name %s is not permitted at apex in zone %s", key.name, z.name)
	case key.kind == types.RRTypeCname && len(r.ResourceRecords) > 1:
		return fmt.Sprintf("RRSet of type CNAME with DNS name %s may have only one resource record", key.name)
	case z.conflicts(key):
		return fmt.Sprintf("RRSet of type %s with DNS name %s is not permitted as it conflicts with other records with the same DNS name in zone %s", key.kind, key.name, z.name)
	}
	z.put(r)
	return ""
}

// addressRules are the rules of records with addresses as values.
var addressRules = map[types.RRType]string{types.RRTypeA: "route53-address", types.RRTypeAaaa: "route53-ipv6-address"}

// hasAddresses is false for a record of addresses that has another value.
func hasAddresses(r types.ResourceRecordSet) bool {
	if addressRules[r.Type] == "" {
		return true
	}
	return !slices.ContainsFunc(valuesOf(r), func(value string) bool {
		address, err := netip.ParseAddr(value)
		return err != nil || address.Is4() != (r.Type == types.RRTypeA)
	})
}

// conflicts: a CNAME shares its name with no other record.
func (z *hostedZone) conflicts(key recordKey) bool {
	for _, other := range z.order {
		if other.name == key.name && other.kind != key.kind && (key.kind == types.RRTypeCname || other.kind == types.RRTypeCname) {
			return true
		}
	}
	return false
}

// same compares as DELETE does: the TTL, and the values in any order.
func same(a, b types.ResourceRecordSet) bool {
	return aws.ToInt64(a.TTL) == aws.ToInt64(b.TTL) && slices.Equal(valuesOf(a), valuesOf(b))
}

func valuesOf(r types.ResourceRecordSet) []string {
	var out []string
	for _, v := range r.ResourceRecords {
		out = append(out, aws.ToString(v.Value))
	}
	slices.Sort(out)
	return out
}

// change is PENDING until Delays.Records have passed.
func (q *request) change(id string) *types.ChangeInfo {
	at := q.cloud.changes[id]
	c := &types.ChangeInfo{Id: aws.String("/change/" + id), Status: types.ChangeStatusInsync, SubmittedAt: aws.Time(at)}
	if q.now.Before(at.Add(q.cloud.delays.Records)) {
		c.Status = types.ChangeStatusPending
	}
	return c
}

func (q *request) getChange(in *route53.GetChangeInput) (*route53.GetChangeOutput, error) {
	id := strings.TrimPrefix(*in.Id, "/change/")
	if _, ok := q.cloud.changes[id]; !ok {
		return nil, modelled(http.StatusNotFound, &types.NoSuchChange{Message: aws.String("Could not find resource with ID: " + id)})
	}
	return &route53.GetChangeOutput{ChangeInfo: q.change(id)}, nil
}
