package securitygroup_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// The last call of a process that was killed may be carried out after the next process has read the group.
func TestIngressMayBeNewerThanTheGroupThatWasRead(t *testing.T) {
	const region = "us-east-1"
	for name, c := range map[string]struct {
		// before, meanwhile and want are the ports of rules: of the group that was read, of the group now, and of the spec.
		before, meanwhile, want []int32
		err                     string
		// reported are the changes that the hook gets.
		reported []string
	}{
		"its only rule exists already":     {meanwhile: []int32{22}, want: []int32{22}},
		"one of two rules exists already":  {meanwhile: []int32{22}, want: []int32{22, 443}, reported: []string{"1 missing rules authorized"}},
		"its only rule is gone already":    {before: []int32{22}},
		"one of two rules is gone already": {before: []int32{22, 443}, meanwhile: []int32{443}, reported: []string{"1 rules revoked that are not wanted"}},
		"a rule replaces another already":  {before: []int32{22}, meanwhile: []int32{443}, want: []int32{443}},
		"a rule that EC2 refuses":          {meanwhile: []int32{22}, want: []int32{22, 65536}, err: "InvalidParameterValue"},
	} {
		t.Run(name, func(t *testing.T) {
			e := testenv.New(t)
			account := e.AWS.Account(testenv.Customer)
			api := ec2.NewFromConfig(account.Config(region, ""))
			spec := func(ports []int32) securitygroup.Spec {
				s := securitygroup.Spec{Name: "demo", Description: "demo", VPC: account.AddVPC(region, fakeaws.VPC{})}
				for _, port := range ports {
					s.Rules = append(s.Rules, securitygroup.Rule{Protocol: "tcp", From: port, To: port, Source: netip.MustParsePrefix("10.0.0.0/16")})
				}
				return s
			}
			created, err := securitygroup.Create(t.Context(), api, spec(nil))
			e.Must(err)
			read := func() securitygroup.Group {
				out, err := api.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{created.ID}})
				e.Must(err)
				return securitygroup.Read(out.SecurityGroups[0])
			}
			set := func(ports []int32, got securitygroup.Group) error {
				_, err := securitygroup.SetIngress(t.Context(), api, spec(ports), got)
				return err
			}
			e.Must(set(c.before, read()))
			stale := read()
			e.Must(set(c.meanwhile, stale))

			var reported []string
			last := spec(c.want)
			last.Hooks.OnChange = func(_, change string) { reported = append(reported, change) }
			_, err = securitygroup.SetIngress(t.Context(), api, last, stale)
			if !slices.Equal(reported, c.reported) {
				t.Errorf("reported %q, want %q", reported, c.reported)
			}
			if awsx.Code(err) != c.err {
				t.Fatalf("error %v, want the code %q", err, c.err)
			}
			if c.err != "" {
				return
			}
			got, want := strings.Join(spec(c.want).Compared(read()), ", "), strings.Join(spec(c.want).Desired(), ", ")
			if got != want {
				t.Errorf("the group has %q, want %q", got, want)
			}
		})
	}
}
