package resolver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/util/wait"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/test/lab/poll"
)

const (
	nlb      = "router-0123.elb.us-east-1.amazonaws.com"
	endpoint = "vpce-1.vpce-svc-1.us-east-1.vpce.amazonaws.com"
)

// account has one zone and one endpoint.
type account struct {
	mu       sync.Mutex
	records  []route53types.ResourceRecordSet
	endpoint ec2types.VpcEndpoint
}

func (a *account) ListHostedZones(context.Context, *route53.ListHostedZonesInput, ...func(*route53.Options)) (*route53.ListHostedZonesOutput, error) {
	return &route53.ListHostedZonesOutput{HostedZones: []route53types.HostedZone{{Name: aws.String("demo.hypershift.local.")}}}, nil
}

func (a *account) ListResourceRecordSets(context.Context, *route53.ListResourceRecordSetsInput, ...func(*route53.Options)) (*route53.ListResourceRecordSetsOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.records == nil {
		return nil, &route53types.NoSuchHostedZone{}
	}
	return &route53.ListResourceRecordSetsOutput{ResourceRecordSets: slices.Clone(a.records)}, nil
}

func (a *account) DescribeVpcEndpoints(context.Context, *ec2.DescribeVpcEndpointsInput, ...func(*ec2.Options)) (*ec2.DescribeVpcEndpointsOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &ec2.DescribeVpcEndpointsOutput{VpcEndpoints: []ec2types.VpcEndpoint{a.endpoint}}, nil
}

func (a *account) DescribeVpcEndpointServiceConfigurations(context.Context, *ec2.DescribeVpcEndpointServiceConfigurationsInput, ...func(*ec2.Options)) (*ec2.DescribeVpcEndpointServiceConfigurationsOutput, error) {
	return &ec2.DescribeVpcEndpointServiceConfigurationsOutput{ServiceConfigurations: []ec2types.ServiceConfiguration{
		{ServiceName: aws.String("service"), NetworkLoadBalancerArns: []string{"arn:nlb"}},
	}}, nil
}

// newAccount is an account in the state in which the operators leave it.
func newAccount() *account {
	record := func(name string, kind route53types.RRType, value string) route53types.ResourceRecordSet {
		return route53types.ResourceRecordSet{Name: &name, Type: kind, ResourceRecords: []route53types.ResourceRecord{{Value: &value}}}
	}
	return &account{
		records: []route53types.ResourceRecordSet{
			record("demo.hypershift.local.", route53types.RRTypeNs, "ns-1.example.com"),
			record("api.demo.hypershift.local.", route53types.RRTypeCname, endpoint),
			record(`\052.apps.demo.hypershift.local.`, route53types.RRTypeCname, endpoint+"."),
			record("host.demo.hypershift.local.", route53types.RRTypeA, "10.55.0.1"),
			record("circle.demo.hypershift.local.", route53types.RRTypeCname, "circle.demo.hypershift.local"),
			{Name: aws.String("alias.demo.hypershift.local."), Type: route53types.RRTypeA, AliasTarget: &route53types.AliasTarget{DNSName: aws.String(nlb)}},
		},
		endpoint: ec2types.VpcEndpoint{
			State: "available", ServiceName: aws.String("service"), DnsEntries: []ec2types.DnsEntry{{DnsName: aws.String(endpoint)}},
		},
	}
}

var balancers = []LoadBalancer{{ARN: "arn:nlb", Host: nlb, Address: netip.MustParseAddr("10.58.0.1")}}

func TestNamesResolveToAddresses(t *testing.T) {
	n, settled, err := read(t.Context(), []Account{{Zones: newAccount(), Endpoints: newAccount()}})
	if err != nil || !settled {
		t.Fatal(settled, err)
	}
	for name, want := range map[string]string{
		strings.ToUpper(nlb) + ".":                "[10.58.0.1]",
		endpoint:                                  "[10.58.0.1]",
		"api.demo.hypershift.local.":              endpoint + " [10.58.0.1]",
		"konnectivity.apps.demo.hypershift.local": endpoint + " [10.58.0.1]",
		"a.b.apps.demo.hypershift.local":          endpoint + " [10.58.0.1]",
		"host.demo.hypershift.local":              "[10.55.0.1]",
		"alias.demo.hypershift.local":             nlb + " [10.58.0.1]",
		"other.demo.hypershift.local":             "nothing, ours",
		"api.other.hypershift.local":              "nothing",
		"other-0123.elb.us-east-1.amazonaws.com":  "nothing, ours",
		"example.com":                             "nothing",
		"circle.demo.hypershift.local":            strings.TrimSpace(strings.Repeat("circle.demo.hypershift.local ", maxAliases)) + " []",
	} {
		a := n.lookup(name, balancers)
		var got []string
		for _, alias := range a.aliases {
			got = append(got, alias[1])
		}
		switch {
		case a.exists:
			got = append(got, fmt.Sprint(a.addresses))
		case a.ours:
			got = append(got, "nothing, ours")
		default:
			got = append(got, "nothing")
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s resolves to %q, want %q", name, strings.Join(got, " "), want)
		}
	}
}

func TestEndpointHasANameWhenItIsAvailable(t *testing.T) {
	a := newAccount()
	for state, want := range map[ec2types.State]struct{ settled, exists bool }{
		"available": {true, true}, ec2types.StateAvailable: {true, true},
		"pending": {false, false}, "pendingAcceptance": {true, false}, "deleting": {true, false},
	} {
		a.endpoint.State = state
		n, settled, err := read(t.Context(), []Account{{Zones: a, Endpoints: a}})
		if err != nil {
			t.Fatal(err)
		}
		if got := n.lookup(endpoint, balancers); settled != want.settled || got.exists != want.exists {
			t.Errorf("%s: settled is %v, the name exists is %v", state, settled, got.exists)
		}
	}
	a.endpoint.State = "available"
	n, _, err := read(t.Context(), []Account{{Zones: a, Endpoints: a}})
	if err != nil {
		t.Fatal(err)
	}
	if got := n.lookup(endpoint, nil); !got.exists || got.addresses != nil {
		t.Errorf("before its load balancer has an address: %+v", got)
	}
}

// start starts a server on loopback.
func start(t *testing.T, o Options) *Server {
	t.Helper()
	o.Listen, o.Progress = "127.0.0.1:0", t.Output()
	if o.Clock == nil {
		o.Clock = clocktesting.NewFakeClock(time.Unix(0, 0))
	}
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return s
}

// ask returns the code and the answers of a query.
func ask(t *testing.T, s *Server, network, name string, kind uint16) string {
	t.Helper()
	question := (&dns.Msg{}).SetQuestion(dns.Fqdn(name), kind)
	reply, _, err := (&dns.Client{Net: network}).Exchange(question, s.Address())
	if err != nil {
		t.Fatal(err)
	}
	got := []string{dns.RcodeToString[reply.Rcode]}
	for _, rr := range reply.Answer {
		switch rr := rr.(type) {
		case *dns.CNAME:
			got = append(got, strings.TrimSuffix(rr.Target, "."))
		case *dns.A:
			got = append(got, strings.TrimSuffix(rr.Hdr.Name, ".")+"="+rr.A.String())
		}
	}
	return strings.Join(got, " ")
}

func TestPortInUseForTCPIsNotSelected(t *testing.T) {
	// With many TCP ports in use, the kernel selects some of them for UDP.
	for range 3000 {
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
	}
	for range 100 {
		packets, listener, err := listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = packets.Close(), listener.Close()
	}
}

func TestServerAnswersQueries(t *testing.T) {
	a := newAccount()
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	others := start(t, Options{ // an external DNS server with two names
		Accounts: func() []Account { return nil },
		LoadBalancers: func() []LoadBalancer {
			return []LoadBalancer{
				{Host: "example.com", Address: netip.MustParseAddr("192.0.2.1")},
				{Host: "host.demo.hypershift.local", Address: netip.MustParseAddr("192.0.2.2")},
			}
		},
	})
	s := start(t, Options{
		Accounts:      func() []Account { return []Account{{Zones: a, Endpoints: a}} },
		LoadBalancers: func() []LoadBalancer { return balancers },
		Forward:       others.Address(),
		Options:       poll.Options{Clock: clock},
	})
	become := func(name, want string) {
		t.Helper()
		err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
			clock.Step(time.Second)
			return ask(t, s, "udp", name, dns.TypeA) == want, nil
		})
		if err != nil {
			t.Fatalf("%s: %v, the answer is %q", name, err, ask(t, s, "udp", name, dns.TypeA))
		}
	}
	become("api.demo.hypershift.local", "NOERROR "+endpoint+" "+endpoint+"=10.58.0.1")
	for _, network := range []string{"udp", "tcp"} {
		for question, want := range map[string]string{
			nlb:                       "NOERROR " + nlb + "=10.58.0.1",
			"x.demo.hypershift.local": "NXDOMAIN",
			"example.com":             "NOERROR example.com=192.0.2.1",
			"unknown.example.com":     "NXDOMAIN",
		} {
			if got := ask(t, s, network, question, dns.TypeA); got != want {
				t.Errorf("%s over %s: %q, want %q", question, network, got, want)
			}
		}
	}
	if got, want := ask(t, s, "udp", "api.demo.hypershift.local", dns.TypeAAAA), "NOERROR "+endpoint; got != want {
		t.Errorf("an IPv6 address: %q, want %q", got, want)
	}

	a.mu.Lock()
	a.records = a.records[:1]
	a.mu.Unlock()
	become("api.demo.hypershift.local", "NXDOMAIN")
	a.mu.Lock()
	a.records = nil // the zone is deleted after it was listed
	a.mu.Unlock()
	become("host.demo.hypershift.local", "NOERROR host.demo.hypershift.local=192.0.2.2")
	if trouble := s.Trouble(); trouble != "" {
		t.Error(trouble)
	}
}

func TestForwarderWithoutResponseIsAFailure(t *testing.T) {
	gone := start(t, Options{Accounts: func() []Account { return nil }, LoadBalancers: func() []LoadBalancer { return nil }})
	for _, server := range gone.servers {
		err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
			return server.Shutdown() == nil, nil
		})
		if err != nil {
			t.Fatal(errors.New("it did not start"))
		}
	}
	s := start(t, Options{Accounts: func() []Account { return nil }, LoadBalancers: func() []LoadBalancer { return nil }, Forward: gone.Address()})
	if got := ask(t, s, "udp", "example.com", dns.TypeA); got != "SERVFAIL" {
		t.Errorf("%q", got)
	}
}
