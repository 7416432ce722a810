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

	"github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/util/wait"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/lab/poll"
)

const (
	nlb      = "router-0123.elb.us-east-1.amazonaws.com"
	endpoint = "vpce-1.vpce-svc-1.us-east-1.vpce.amazonaws.com"
	zonal    = "vpce-1-us-east-1"
)

// account is a network in the state in which the operators leave it.
type account struct {
	mu sync.Mutex
	awsemulator.Network
}

func (a *account) read(context.Context) (*awsemulator.Network, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	copied := a.Network
	copied.Zones = slices.Clone(copied.Zones)
	return &copied, nil
}

func newAccount() *account {
	record := func(name, kind, value string) awsemulator.Record {
		return awsemulator.Record{Name: name, Type: kind, Values: []string{value}}
	}
	return &account{Network: awsemulator.Network{
		VPCs: []awsemulator.VPC{{ID: "vpc-1", CIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}},
		Zones: []awsemulator.Zone{
			{Name: "demo.hypershift.local.", Private: true, VPCs: []string{"vpc-1"}, Records: []awsemulator.Record{
				record("api.demo.hypershift.local.", "CNAME", endpoint),
				record(`\052.apps.demo.hypershift.local.`, "CNAME", endpoint+"."),
				record("host.demo.hypershift.local.", "A", "10.55.0.1"),
				record("circle.demo.hypershift.local.", "CNAME", "circle.demo.hypershift.local"),
				{Name: "alias.demo.hypershift.local.", Type: "A", Alias: nlb},
			}},
			{Name: "example.org.", Records: []awsemulator.Record{record("api.example.org", "CNAME", nlb), record("www.example.org", "A", "192.0.2.9")}},
			{Name: "example.org.", Private: true, VPCs: []string{"vpc-1"}, Records: []awsemulator.Record{record("api.example.org", "CNAME", endpoint)}},
		},
		Interfaces: []awsemulator.NetworkInterface{{ID: "eni-1", Address: netip.MustParseAddr("10.1.0.250")}, {ID: "eni-2", Address: netip.MustParseAddr("10.1.16.250")}},
		Endpoints: []awsemulator.Endpoint{{
			ID: "vpce-1", State: "available", Names: []string{endpoint, zonal + "a", zonal + "b"}, Interfaces: []string{"eni-1", "eni-2"},
		}},
	}}
}

var balancers = []LoadBalancer{{Host: nlb, Address: netip.MustParseAddr("10.58.0.1")}}

func resolve(n *names, name, vpc string) string {
	a := n.lookup(name, vpc)
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
	return strings.Join(got, " ")
}

func TestNamesResolveToAddresses(t *testing.T) {
	n := build(&newAccount().Network, balancers)
	n.s3 = netip.MustParseAddr("10.55.0.1")
	for name, want := range map[string]string{
		"bucket.s3.us-east-1.amazonaws.com":       "[10.55.0.1]",
		"s3.us-east-1.amazonaws.com":              "[10.55.0.1]",
		"sts.us-east-1.amazonaws.com":             "[10.55.0.1]",
		"a.sts.us-east-1.amazonaws.com":           "nothing, ours",
		"a.b.s3.us-east-1.amazonaws.com":          "nothing, ours", // no certificate has such a name
		"bucket-s3.us-east-1.amazonaws.com":       "nothing, ours",
		strings.ToUpper(nlb) + ".":                "[10.58.0.1]",
		endpoint:                                  "[10.1.0.250 10.1.16.250]",
		zonal + "b":                               "[10.1.16.250]",
		"api.demo.hypershift.local.":              endpoint + " [10.1.0.250 10.1.16.250]",
		"konnectivity.apps.demo.hypershift.local": endpoint + " [10.1.0.250 10.1.16.250]",
		"a.b.apps.demo.hypershift.local":          endpoint + " [10.1.0.250 10.1.16.250]",
		"host.demo.hypershift.local":              "[10.55.0.1]",
		"alias.demo.hypershift.local":             nlb + " [10.58.0.1]",
		"other.demo.hypershift.local":             "nothing, ours",
		"api.other.hypershift.local":              "nothing",
		"other-0123.elb.us-east-1.amazonaws.com":  "nothing, ours",
		"ip-10-1-2-3.ec2.internal":                "[10.1.2.3]",
		"ip-10-2-2-3.ec2.internal":                "nothing, ours",
		"example.com":                             "nothing",
		"circle.demo.hypershift.local":            strings.TrimSpace(strings.Repeat("circle.demo.hypershift.local ", maxAliases)) + " []",
	} {
		if got := resolve(n, name, "vpc-1"); got != want {
			t.Errorf("%s resolves to %q, want %q", name, got, want)
		}
	}
}

func TestPrivateZoneAnswersInItsVPCsOnly(t *testing.T) {
	n := build(&newAccount().Network, balancers)
	for _, c := range []struct{ name, vpc, want string }{
		{"api.demo.hypershift.local", "vpc-1", endpoint + " [10.1.0.250 10.1.16.250]"},
		{"api.demo.hypershift.local", "vpc-2", "nothing"},
		{"api.demo.hypershift.local", "", "nothing"},
		{"api.example.org", "vpc-1", endpoint + " [10.1.0.250 10.1.16.250]"},
		{"api.example.org", "vpc-2", nlb + " [10.58.0.1]"},
		{"www.example.org", "vpc-1", "nothing, ours"}, // the private zone answers alone
		{"www.example.org", "vpc-2", "[192.0.2.9]"},
		{"ip-10-1-2-3.ec2.internal", "vpc-2", "nothing, ours"},
	} {
		if got := resolve(n, c.name, c.vpc); got != c.want {
			t.Errorf("%s in %q resolves to %q, want %q", c.name, c.vpc, got, c.want)
		}
	}
}

func TestEndpointHasANameWhenItIsAvailable(t *testing.T) {
	a := newAccount()
	for state, want := range map[string]bool{"available": true, "pending": false, "pendingAcceptance": false, "deleting": false, "rejected": false} {
		a.Endpoints[0].State = state
		if got := build(&a.Network, balancers).lookup(endpoint, "vpc-1"); got.exists != want {
			t.Errorf("%s: the name exists is %v", state, got.exists)
		}
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
		Read: new(account).read,
		LoadBalancers: func() []LoadBalancer {
			return []LoadBalancer{
				{Host: "example.com", Address: netip.MustParseAddr("192.0.2.1")},
				{Host: "host.demo.hypershift.local", Address: netip.MustParseAddr("192.0.2.2")},
			}
		},
	})
	s := start(t, Options{
		VPC:           "vpc-1",
		Read:          a.read,
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
	become("api.demo.hypershift.local", "NOERROR "+endpoint+" "+endpoint+"=10.1.0.250 "+endpoint+"=10.1.16.250")
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

	packets, listener, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(t.Context(), "vpc-2", packets, listener)
	question := (&dns.Msg{}).SetQuestion("api.demo.hypershift.local.", dns.TypeA)
	for _, network := range []string{"udp", "tcp"} {
		reply, _, err := (&dns.Client{Net: network}).Exchange(question, listener.Addr().String())
		if err != nil || reply.Rcode != dns.RcodeNameError {
			t.Errorf("another VPC over %s: %v, %v", network, reply, err)
		}
	}

	a.mu.Lock()
	a.Zones = slices.Clone(a.Zones)
	a.Zones[0].Records = a.Zones[0].Records[1:]
	a.mu.Unlock()
	become("api.demo.hypershift.local", "NXDOMAIN")
	a.mu.Lock()
	a.Zones = nil
	a.mu.Unlock()
	become("host.demo.hypershift.local", "NOERROR host.demo.hypershift.local=192.0.2.2")
	if trouble := s.Trouble(); trouble != "" {
		t.Error(trouble)
	}
}

func TestForwarderWithoutResponseIsAFailure(t *testing.T) {
	gone := start(t, Options{Read: new(account).read, LoadBalancers: func() []LoadBalancer { return nil }})
	for _, server := range gone.servers {
		err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
			return server.Shutdown() == nil, nil
		})
		if err != nil {
			t.Fatal(errors.New("it did not start"))
		}
	}
	s := start(t, Options{Read: new(account).read, LoadBalancers: func() []LoadBalancer { return nil }, Forward: gone.Address()})
	if got := ask(t, s, "udp", "example.com", dns.TypeA); got != "SERVFAIL" {
		t.Errorf("%q", got)
	}
}
