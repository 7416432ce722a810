package loadbalancers

import (
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parse(args ...string) (Settings, error) {
	var s Settings
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	s.Bind(fs)
	return s, fs.Parse(args)
}

func TestFlagsRoundTrip(t *testing.T) {
	want := Settings{Class: "eks.amazonaws.com/nlb", Annotations: map[string]string{
		Subnets: "subnet-1,subnet-2", Attributes: "deletion_protection.enabled=true", Type: "external", "example.com/Empty": "",
	}}
	got, err := parse(want.Args()...)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if args := (Settings{}).Args(); len(args) != 0 {
		t.Errorf("without settings the flags are %q", args)
	}
}

func TestInvalidSettingsAreRefused(t *testing.T) {
	for arg, want := range map[string]string{
		"--load-balancer-class=":                                                               "is not a loadBalancerClass",
		"--load-balancer-class=a/b/c":                                                          "is not a loadBalancerClass",
		"--load-balancer-annotation=a":                                                         "write key=value",
		"--load-balancer-annotation=a/b/c=d":                                                   "is not the key of an annotation",
		"--load-balancer-annotation=" + Scheme + "=internal":                                   "depends on the HostedCluster",
		"--load-balancer-annotation=" + Internal + "=true":                                     "depends on the HostedCluster",
		"--load-balancer-annotation=external-dns.alpha.kubernetes.io/hostname=api.example.com": "depends on the HostedCluster",
		"--load-balancer-annotation=hypershift.openshift.io/cluster=a/b":                       "depends on the HostedCluster",
	} {
		if _, err := parse(arg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", arg, err, want)
		}
	}
}
