package cli_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/accountcheck"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
)

// zoneNames are the names of one account: us-east-1a is a zone that the management cluster of these tests does not serve.
var zoneNames = map[string]string{
	"us-east-1a": "use1-az4", "us-east-1b": "use1-az1", "us-east-1c": "use1-az2", "us-east-1d": "use1-az3", "us-east-1e": "use1-az5", "us-east-1f": "use1-az6",
}

func inZones(zones string, more ...string) []string {
	return append([]string{"create", "cluster", "aws", "--name", "demo", "--base-domain", domain, "--zones", zones, "--release-image", "example.com/release:1"}, more...)
}

// managementNodes adds a ready node in each zone, by its id.
func (m *managementCluster) managementNodes(t *testing.T, zoneIDs ...string) {
	t.Helper()
	for _, id := range zoneIDs {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + id, Labels: map[string]string{"topology.k8s.aws/zone-id": id}}}
		if err := m.Create(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		if err := m.Status().Update(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := m.Delete(context.WithoutCancel(t.Context()), n); err != nil {
				t.Logf("deleting node %s: %v", n.Name, err)
			}
		})
	}
}

// An endpoint in a zone that the load balancers of the management cluster do not serve cannot be created. Zones are compared by id: the
// same name is another zone in another account.
func zonesAreCompared(t *testing.T, m *managementCluster, u *user) {
	u.try(emulator.SetZoneIDs(t.Context(), u.account, zoneNames))
	m.managementNodes(t, "use1-az1", "use1-az2", "use1-az3")
	for name, c := range map[string]struct {
		args  []string
		words []string
	}{
		"a private cluster in a zone that is not served": {
			inZones("us-east-1a", "--endpoint-access", "Private"),
			[]string{"us-east-1a (use1-az4)", "use1-az1 (us-east-1b), use1-az2 (us-east-1c), use1-az3 (us-east-1d)", "--zones us-east-1b,us-east-1c,us-east-1d"},
		},
		"the same zone by its id": {
			inZones("use1-az4", "--endpoint-access", "PublicAndPrivate"), []string{"us-east-1a (use1-az4)"},
		},
		"a zone id of another region":            {inZones("euw1-az1", "--endpoint-access", "Private"), []string{"zone euw1-az1 does not exist in region us-east-1 for this account"}},
		"a zone twice, by its name and its id":   {inZones("us-east-1b,use1-az1", "--endpoint-access", "Private"), []string{"us-east-1b and use1-az1 are the same zone"}},
		"a network of a zone that is not served": {createInfra("us-east-1a", "--kubeconfig", m.kubeconfig), []string{"us-east-1a (use1-az4)"}},
	} {
		code := u.run(c.args...)
		if code != cli.Failed && code != cli.Usage || len(u.writes) > 0 {
			t.Errorf("%s: exit code %d, writes %v\n%s", name, code, u.writes, u.err.String())
		}
		for _, want := range c.words {
			if !strings.Contains(u.err.String(), want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, u.err.String())
			}
		}
	}
	if left := u.owned(); len(left) > 0 || len(m.names()) > 0 {
		t.Errorf("something was created: %v %v", left, m.names())
	}

	// Without --zones, the first zone that is served is used. By id, the zones are the account's zones.
	u.must(inZones("use1-az2", "--endpoint-access", "Private")...)
	pools := &hyperv1.NodePoolList{}
	u.try(m.List(t.Context(), pools, client.InNamespace("clusters")))
	if len(pools.Items) != 1 || pools.Items[0].Name != "demo-us-east-1c" {
		t.Errorf("node pools %v", m.names())
	}
	if code := u.run("create", "cluster", "aws", "--name", "other", "--base-domain", domain, "--endpoint-access", "Private", "--release-image", "example.com/release:1", "--plan"); code != cli.Changes ||
		!strings.Contains(u.out.String(), "us-east-1b") || strings.Contains(u.out.String(), "us-east-1a") {
		t.Errorf("exit code %d, the plan is\n%s%s", code, u.out.String(), u.err.String())
	}
	u.must(destroyCluster("--yes")...)
	// A public cluster has no endpoint.
	if code := u.run(inZones("us-east-1a", "--endpoint-access", "Public", "--plan")...); code != cli.Changes {
		t.Errorf("exit code %d\n%s", code, u.err.String())
	}
	// Nodes in a zone without the endpoint reach it in another one.
	if code := u.run(inZones("us-east-1a,us-east-1b", "--endpoint-access", "Private", "--plan")...); code != cli.Changes || !strings.Contains(u.err.String(), "us-east-1a (use1-az4)") {
		t.Errorf("exit code %d\n%s", code, u.err.String())
	}
	if !slices.Equal(m.names(), nil) {
		t.Errorf("left: %v", m.names())
	}
}

// registry has no image.
func registry(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2/" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// The account is checked before the first write: problems that would stop the creation after minutes are one error.
func accountIsChecked(t *testing.T, m *managementCluster, u *user) {
	text, err := os.ReadFile(filepath.Join(policies, "create-infra.json"))
	u.try(err)
	withoutVPC := strings.NewReplacer("${INFRA_ID}", "demo-x7k2p", `"ec2:CreateVpc"`, `"ec2:CreateDhcpOptions"`, `"ec2:CreateNatGateway"`, `"ec2:CreateDhcpOptions"`).Replace(string(text))
	least := u.role("least", withoutVPC)
	api := ec2.NewFromConfig(emulator.Config(u.account))
	for range 3 {
		_, err := api.AllocateAddress(t.Context(), &ec2.AllocateAddressInput{})
		u.try(err)
	}
	for name, c := range map[string]struct {
		args  []string
		words []string
	}{
		"an instance type that a zone does not have": {
			inZones("us-east-1a,us-east-1e", "--single-nat-gateway", "--instance-type", "m5.large"),
			[]string{"Instance type m5.large", "m5.large is not offered in us-east-1e", "it is offered in us-east-1a, us-east-1b"},
		},
		"more addresses than are left": {inZones(threeZones), []string{"Elastic IP addresses", "3 of 5 are in use", "here 3", "--single-nat-gateway"}},
		"more vCPUs than the quota":    {inZones("us-east-1a", "--node-pool-replicas", "20"), []string{"0 of 32 are in use; the cluster needs 40", "L-1216C47A"}},
		"a release that does not exist": {
			append(inZones("us-east-1a"), "--release-image", registry(t)+"/release:1"), []string{"Release image", "/release:1 does not exist"},
		},
		"a caller that may not create": {
			inZones("us-east-1a", "--infra-id", "demo-x7k2p", "--role-arn", least), []string{"Permissions", "may not call ec2:CreateVpc"},
		},
	} {
		code := u.run(c.args...)
		if code != cli.Failed || len(u.writes) > 0 || !strings.Contains(u.err.String(), "nothing was created") {
			t.Errorf("%s: exit code %d, writes %v\n%s", name, code, u.writes, u.err.String())
		}
		for _, want := range c.words {
			if !strings.Contains(u.err.String(), want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, u.err.String())
			}
		}
	}
	if len(m.names()) > 0 {
		t.Errorf("objects were created: %v", m.names())
	}
	// A check may be wrong.
	if code := u.run(inZones(threeZones, "--ignore-failed-checks", "--plan", "--auto-node")...); code != cli.Changes ||
		!strings.Contains(u.err.String(), "warning: Elastic IP addresses") || !strings.Contains(u.err.String(), "create-service-linked-role --aws-service-name spot.amazonaws.com") {
		t.Errorf("exit code %d\n%s", code, u.err.String())
	}
	if !strings.Contains(u.out.String(), "the new resources cost about ") {
		t.Errorf("the plan has no cost:\n%s", u.out.String())
	}
	// The plan of a whole cluster fits a page.
	if lines := strings.Count(u.out.String(), "\n"); lines > 85 {
		t.Errorf("the plan has %d lines:\n%s", lines, u.out.String())
	}
}

// The simulation covers calls without a dry run: calls that need the id of a resource, and calls of IAM.
func TestSimulationNamesWhatThePoliciesOfTheCallerLack(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	text, err := os.ReadFile(filepath.Join(policies, "create-infra.json"))
	u.try(err)
	want := strings.ReplaceAll(string(text), "${INFRA_ID}", "demo-x7k2p")
	for name, c := range map[string]struct {
		policy string
		denied string
	}{
		"the shipped policy":        {want, ""},
		"one without two actions":   {strings.NewReplacer(`"ec2:CreateNatGateway"`, `"ec2:CreateDhcpOptions"`, `"ec2:CreateSubnet"`, `"ec2:CreateDhcpOptions"`).Replace(want), "ec2:CreateNatGateway,ec2:CreateSubnet"},
		"one for another infra ID":  {strings.ReplaceAll(string(text), "${INFRA_ID}", "other"), "ec2:AllocateAddress"},
		"an administrator":          {`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`, ""},
		"a denial of another owner": {`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","Action":"ec2:CreateVpc","Resource":"*"}]}`, "ec2:CreateVpc"},
	} {
		arn := u.role("r-"+strings.ReplaceAll(name, " ", "-"), c.policy)
		_, roleName, _ := strings.Cut(arn, "role/")
		got, err := accountcheck.Simulate(t.Context(), emulator.Config(u.account), awsgraph.Caller{Account: u.account, Partition: "aws", ARN: "arn:aws:sts::" + u.account + ":assumed-role/" + roleName + "/me"}, want)
		if text := strings.Join(got, ","); err != nil || c.denied == "" && text != "" || !strings.Contains(text, c.denied) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
