package records

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
)

// API is the part of Route53 that this package calls.
type API interface {
	ZoneLister
	GetHostedZone(context.Context, *route53.GetHostedZoneInput, ...func(*route53.Options)) (*route53.GetHostedZoneOutput, error)
	ListResourceRecordSets(context.Context, *route53.ListResourceRecordSetsInput, ...func(*route53.Options)) (*route53.ListResourceRecordSetsOutput, error)
	ChangeResourceRecordSets(context.Context, *route53.ChangeResourceRecordSetsInput, ...func(*route53.Options)) (*route53.ChangeResourceRecordSetsOutput, error)
}

// NewClient returns a client for DNS records.
func NewClient(cfg aws.Config) *route53.Client { return route53.NewFromConfig(cfg) }

// A Record is a CNAME of ours.
type Record struct {
	Name, Target string
	// TTL is how long a resolver may cache the record, in whole seconds; 0 for DefaultTTL.
	TTL time.Duration
}

// DefaultTTL is how long a resolver may cache a record. An endpoint is rarely replaced; when
// it is, workers cannot reach the control plane for this time.
const DefaultTTL = 5 * time.Minute

func (r Record) ttl() int64 { return int64(cmp.Or(r.TTL, DefaultTTL) / time.Second) }

// A Set is a record set of any type.
type Set struct {
	// Name is in lower case, without the last dot, and with a real asterisk.
	Name string
	// Targets are the values of a CNAME, and nil for any other type.
	Targets []string
	wire    types.ResourceRecordSet
}

func (r Record) wire() types.ResourceRecordSet {
	return types.ResourceRecordSet{
		Name: &r.Name, Type: types.RRTypeCname, TTL: aws.Int64(r.ttl()),
		ResourceRecords: []types.ResourceRecord{{Value: &r.Target}},
	}
}

// is reports whether s equals the set that is written for r.
func (s Set) is(r Record) bool {
	return s.plain() && aws.ToInt64(s.wire.TTL) == r.ttl() && slices.Equal(s.Targets, []string{Canonical(r.Target)})
}

// plain is true if an upsert of a CNAME replaces the set, and neither adds a second
// set nor conflicts with it.
func (s Set) plain() bool { return s.wire.Type == types.RRTypeCname && s.wire.SetIdentifier == nil }

// key identifies a set in Route53.
func (s Set) key() string {
	return s.Name + " " + string(s.wire.Type) + " " + aws.ToString(s.wire.SetIdentifier)
}

func read(wire types.ResourceRecordSet) Set {
	s := Set{Name: Canonical(aws.ToString(wire.Name)), wire: wire}
	if wire.Type != types.RRTypeCname {
		return s
	}
	for _, r := range wire.ResourceRecords {
		s.Targets = append(s.Targets, Canonical(aws.ToString(r.Value)))
	}
	return s
}

// Canonical writes a name in one way: Route53 ends it with a dot and writes an
// asterisk as an octal escape.
func Canonical(name string) string {
	return strings.ToLower(strings.TrimSuffix(strings.ReplaceAll(name, `\052`, "*"), "."))
}

// A ClaimedError is returned when one of our names is in use by another cluster.
type ClaimedError struct{ Name, Target string }

func (e *ClaimedError) Error() string {
	return fmt.Sprintf("record %s points to %s, which belongs to another cluster; two clusters of one name cannot share a VPC", e.Name, e.Target)
}
