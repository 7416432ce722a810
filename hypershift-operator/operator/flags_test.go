package operator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/internal/version"
)

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		args   []string
		region string
		says   string // empty if the operator starts
	}{
		"nothing asked for":               {},
		"private clusters":                {args: []string{"--private-platform=AWS"}, region: "us-east-1"},
		"private clusters without region": {args: []string{"--private-platform=AWS"}, says: "AWS_REGION"},
		"a shared router":                 {args: []string{"--private-platform=AWS", "--shared-router"}, region: "us-east-1"},
		"a shared router without AWS":     {args: []string{"--shared-router"}, says: "needs --private-platform=AWS"},
		"networks of load balancers":      {args: []string{"--private-platform=AWS", "--shared-router", "--shared-router-load-balancer-cidrs=10.0.0.0/24,fd00::/64"}, region: "us-east-1"},
		"an address of a load balancer":   {args: []string{"--shared-router-load-balancer-cidrs=10.0.0.1"}, says: "is not a network"},
		"a router for nobody":             {args: []string{"--shared-router-connections-per-client=0"}, says: "must be more than 0"},
		"another cloud":                   {args: []string{"--private-platform=Azure"}, says: "use AWS or None"},
		"a bucket": {
			args: []string{"--oidc-storage-provider-s3-bucket-name=b", "--oidc-storage-provider-s3-region=us-east-1"},
		},
		"a bucket without its region": {args: []string{"--oidc-storage-provider-s3-bucket-name=b"}, says: "needed together"},
		"a period of nothing":         {args: []string{"--resync-period=0s"}, says: "--resync-period must be more than 0"},
		"registries with mirrors":     {args: []string{"--registry-overrides=quay.io/a=mirror.test/a,registry.k8s.io=mirror.test/k8s"}},
		"an override without an end":  {args: []string{"--registry-overrides=quay.io"}, says: "write source=mirror"},
		"allowed repositories":        {args: []string{"--allowed-release-repositories=quay.io/a,registry.test:5000"}},
		"a repository of no registry": {args: []string{"--allowed-release-repositories=library/a"}, says: "write it with its host name"},
		"a key that is none":          {args: []string{"--release-signature-keys=abc"}, says: "not PEM"},
		"networks of the management cluster": {
			args: []string{"--management-api-endpoints=203.0.113.7,203.0.113.8:6443,[2001:db8::7]:6443", "--control-plane-egress-blocked-cidrs=10.0.0.0/8, fd00::/8"},
		},
		"no further networks":                 {args: []string{"--management-api-endpoints=", "--control-plane-egress-blocked-cidrs="}},
		"a name for an address":               {args: []string{"--management-api-endpoints=api.example.test"}, says: "a NetworkPolicy has no names"},
		"a port of nothing":                   {args: []string{"--management-api-endpoints=203.0.113.7:0"}, says: "is not an address"},
		"an address for a network":            {args: []string{"--control-plane-egress-blocked-cidrs=10.0.0.0"}, says: "is not a network"},
		"an IPv4 network in the form of IPv6": {args: []string{"--control-plane-egress-blocked-cidrs=::ffff:10.0.0.0/104"}, says: "is not a network"},
		"a network with bits of a host":       {args: []string{"--control-plane-egress-blocked-cidrs=10.0.0.1/8"}, says: "write 10.0.0.0/8"},
		"every address":                       {args: []string{"--control-plane-egress-blocked-cidrs=10.0.0.0/8,0.0.0.0/0"}, says: "is every address"},
		"its version":                         {args: []string{"--version", "--resync-period=0s"}, says: version.ErrRequested.Error()},
		"a word too many":                     {args: []string{"run"}, says: `unexpected argument "run"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("hypershift-operator", tc.args, []string{"AWS_REGION=" + tc.region})
			if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
				t.Errorf("error %v, want %q", err, tc.says)
			}
		})
	}
}

func TestParsedNetworks(t *testing.T) {
	o, err := Parse("hypershift-operator", []string{"--management-api-endpoints=203.0.113.7,[2001:db8::7]:6443", "--control-plane-egress-blocked-cidrs=10.0.0.0/8,fd00::/8"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(o.ManagementAPIEndpoints, o.BlockedCIDRs), "[203.0.113.7:443 [2001:db8::7]:6443] [10.0.0.0/8 fd00::/8]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
