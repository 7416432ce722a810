package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/internal/cli/prerequisites"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// quotas runs doctor and returns the results about the account, by the name of the check.
func (u *user) quotas(args ...string) map[string]prerequisites.Result {
	u.t.Helper()
	if code := u.run(append([]string{"doctor", "-o", "json"}, args...)...); code != cli.Failed && code != cli.Done {
		u.t.Fatalf("exit code %d\n%s", code, u.err.String())
	}
	var all []prerequisites.Result
	u.try(json.Unmarshal(u.out.Bytes(), &all))
	found := map[string]prerequisites.Result{}
	for _, r := range all {
		if name, ok := strings.CutSuffix(r.Check, " in "+u.account+", us-east-1"); ok {
			found[name] = r
		}
	}
	return found
}

const standardCPUs = "vCPUs of on-demand instances of the families A, C, D, H, I, M, R, T and Z"

func TestDoctorComparesQuotasWithTheirUse(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	made := u.created()
	u.must(u.createIAM()...)
	u.instance(made, "worker")
	u.managementObjects("demo-x7k2p", made)
	for _, args := range [][]string{{"demo"}, {"--aws", "--region", "us-east-1"}} {
		got := u.quotas(args...)
		for name, want := range map[string]string{
			"Elastic IP addresses": "1 of 5 are in use", "VPCs": "2 of 5 are in use", "Internet gateways": "1 of 5 are in use",
			"NAT gateways": "1 of 5 are in use in us-east-1a", "Interface endpoints": "0 of 50 are in use", standardCPUs: "2 of 32 are in use",
			"Network load balancers": "0 of 50 are in use", "OIDC providers": "1 of 100 are in use", "Hosted zones": "3 of 500 are in use",
			"IAM roles": "7 of ", "IAM instance profiles": "1 of ",
		} {
			if r := got[name]; r.Status != prerequisites.Passed || !strings.Contains(r.Message, want) {
				t.Errorf("doctor %v: %s: %+v, want %q", args, name, r, want)
			}
		}
	}
	for range 3 { // instances with two vCPUs each
		for range 4 {
			u.instance(made, "worker")
		}
	}
	if r := u.quotas("demo")[standardCPUs]; r.Status != prerequisites.Passed || !strings.HasPrefix(r.Message, "26 of 32") {
		t.Errorf("a cluster fits: %+v", r)
	}
	u.instance(made, "worker")
	if r := u.quotas("demo")[standardCPUs]; r.Status != prerequisites.Warning || !strings.Contains(r.Action, "raise the quota L-1216C47A of service ec2") {
		t.Errorf("another cluster does not fit: %+v", r)
	}
}

func TestQuotasThatMayNotBeReadAreUnknown(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.managementObjects("demo-x7k2p", u.created())
	for _, action := range []string{"GetServiceQuota", "GetAccountSummary", "GetAccountLimit", "DescribeNatGateways"} {
		u.try(emulator.Fault(t.Context(), awsemulator.Fault{Kind: awsemulator.Denied, Action: action, Account: u.account, Count: awsemulator.Forever}))
	}
	got := u.quotas("demo")
	for _, name := range []string{"VPCs", "NAT gateways", "OIDC providers", "Hosted zones", "IAM roles", "IAM instance profiles"} {
		if r := got[name]; r.Status != prerequisites.Unknown || !strings.Contains(r.Action, "doctor.json") || strings.Contains(r.Message, "RequestID") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := got["Elastic IP addresses"]; r.Status != prerequisites.Passed {
		t.Errorf("addresses: %+v", r)
	}
}
