package cli_test

import (
	"os"
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
)

// TestRequestsAtTheLimitsAreValid uses the longest names and tags that the command accepts. The end of the test fails if
// the service models refuse one of the requests.
func TestRequestsAtTheLimitsAreValid(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	infraID, name := strings.Repeat("i", 32), strings.Repeat("n", 63)
	// Every character that IAM allows, and as many tags as a hosted zone can have.
	tags := "Straße_.:/+-@ 1=ü ñ=字,key=" + strings.Repeat("v", 256) + "," + strings.Repeat("k", 127) + "=,a=1,b=2,c=3"
	all := []string{"--infra-id", infraID, "--name", name}
	u.must(createInfra("us-east-1a,us-east-1b", append(all, "--output-file", u.infraJSON(), "--additional-tags", tags, "--worker-security-group")...)...)
	u.must(u.createIAM("--infra-id", infraID, "--additional-tags", tags, "--kms-key-arn", "arn:aws:kms:us-east-1:111111111111:key/k", "--auto-node")...)
	u.must(createBastion(append(all, "--additional-tags", tags)...)...)
	u.must(createCLIRole("--infra-id", infraID, "--name", strings.Repeat("r", 64), "--additional-tags", tags)...)
	u.must(createBucket(strings.Repeat("b", 51)+u.account, "--additional-tags", tags)...)
	u.must(createOperatorRoles(u.issuer(), strings.Repeat("b", 51)+u.account, "--name-prefix", strings.Repeat("p", 40), "--additional-tags", tags)...)

	u.must(createInfra("us-east-1a,us-east-1b", append(all, "--output-file", u.infraJSON(), "--additional-tags", tags, "--worker-security-group")...)...)
	if len(u.writes) > 0 {
		t.Errorf("a second run has changed something: %v", u.writes)
	}
	u.must(destroyBastion("--infra-id", infraID)...)
	u.must(destroyIAM("--infra-id", infraID)...)
	u.must(destroyInfra(all...)...)
}

// TestRequestsBeyondTheLimitsAreNotMade tries requests that AWS would refuse after half of the resources exist.
func TestRequestsBeyondTheLimitsAreNotMade(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.try(os.WriteFile(u.infraJSON(), []byte(`{"region":"us-east-1","infraID":"demo-x7k2p","publicZoneID":"Z1","privateZoneID":"Z2","localZoneID":"Z3"}`), 0o600))
	tagged := func(command []string, tag string) []string { return append(command, "--additional-tags", tag) }
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"an infra ID of 33 characters": {createInfra("us-east-1a", "--infra-id", strings.Repeat("i", 33)), "--infra-id: Too long"},
		"an infra ID of 33 characters, for roles": {[]string{"create", "iam", "aws", "--infra-id", strings.Repeat("i", 33), "--oidc-storage-provider-s3-bucket-name", "documents",
			"--public-zone-id", "Z1", "--private-zone-id", "Z2", "--local-zone-id", "Z3"}, "--infra-id: Too long"},
		"a cluster name of 64 characters":       {createInfra("us-east-1a", "--name", strings.Repeat("n", 64)), "must be no more than 63"},
		"a cluster name with an umlaut":         {createInfra("us-east-1a", "--name", "büro"), `--name: Invalid value: "büro"`},
		"a prefix with a space":                 {createInfra("us-east-1a", "--base-domain-prefix", "a b"), `--base-domain-prefix: Invalid value: "a b"`},
		"a role name of 65 characters":          {createCLIRole("--name", strings.Repeat("r", 65)), "--name: Too long"},
		"a tag value with brackets":             {tagged(createInfra("us-east-1a"), "team=a[b]"), `--additional-tags: Invalid value: "a[b]": a value may have`},
		"a tag key with a bracket":              {tagged(createInfra("us-east-1a"), "te[am=a"), `--additional-tags: Invalid value: "te[am": a key may have`},
		"a tag value of 257 characters":         {tagged(createInfra("us-east-1a"), "team="+strings.Repeat("v", 257)), "--additional-tags: Too long"},
		"a tag key of 128 characters":           {tagged(createInfra("us-east-1a"), strings.Repeat("k", 128)+"=v"), "--additional-tags: Too long"},
		"a tag of AWS in capitals":              {tagged(createInfra("us-east-1a"), "AWS:team=a"), "is reserved"},
		"more tags than a hosted zone has":      {tagged(createInfra("us-east-1a"), "a=1,b=1,c=1,d=1,e=1,f=1,g=1"), "--additional-tags: Too many: 7: must have at most 6 items"},
		"brackets in a tag of roles":            {tagged(u.createIAM(), "team=a[b]"), "a value may have"},
		"brackets in a tag of the bastion":      {tagged(createBastion(), "team=a[b]"), "a value may have"},
		"brackets in a tag of the command line": {tagged(createCLIRole(), "team=a[b]"), "a value may have"},
		"brackets in a tag of the bucket":       {tagged(createBucket("documents"), "team=a[b]"), "a value may have"},
	} {
		t.Run(name, func(t *testing.T) {
			if code := u.run(c.args...); code != cli.Usage {
				t.Errorf("exit code %d", code)
			}
			if !strings.Contains(u.err.String(), c.want) {
				t.Errorf("%q is not in\n%s", c.want, u.err.String())
			}
			if len(u.writes) > 0 {
				t.Errorf("calls were made: %v", u.writes)
			}
		})
	}
}

// TestListsInPagesOfOne lets each list of AWS have one item per page: AWS may return fewer items than requested at any
// time. A resource that a command overlooks is created twice, or left behind.
func TestListsInPagesOfOne(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.try(emulator.SetPageSize(t.Context(), u.account, 1))
	network := createInfra("us-east-1a,us-east-1b", "--output-file", u.infraJSON(), "--worker-security-group")
	u.must(network...)
	u.must(u.createIAM("--auto-node")...)
	for _, again := range [][]string{network, u.createIAM("--auto-node")} {
		u.must(again...)
		if len(u.writes) > 0 {
			t.Errorf("a second run of %s has changed something: %v", strings.Join(again[:3], " "), u.writes)
		}
	}
	u.must(createBastion()...)
	u.managementObjects("demo-x7k2p", u.made())
	if used := u.quotas("--aws", "--region", "us-east-1")["VPCs"]; !strings.Contains(used.Message, "2 of 5") { // ours and the default one
		t.Errorf("doctor: %+v", used)
	}
	u.must(destroyBastion()...)
	u.must(destroyIAM()...)
	u.must(destroyInfra()...)
	if left := u.owned(); len(left) > 0 {
		t.Errorf("left: %s", strings.Join(left, "\n"))
	}
}
