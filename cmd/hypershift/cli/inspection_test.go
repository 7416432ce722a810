package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/accountcheck"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

const ownerTag = "kubernetes.io/cluster/demo-x7k2p"

// created creates the network and returns its ids.
func (u *user) created() infra.Output {
	u.t.Helper()
	u.must(createInfra("us-east-1a", "--output-file", u.infraJSON())...)
	text, err := os.ReadFile(u.infraJSON())
	if err != nil {
		u.t.Fatal(err)
	}
	var made infra.Output
	if err := json.Unmarshal(text, &made); err != nil {
		u.t.Fatal(err)
	}
	return made
}

// instance runs an instance of the cluster.
func (u *user) instance(made infra.Output, name string) string {
	u.t.Helper()
	out, err := ec2.NewFromConfig(emulator.Config(u.account)).RunInstances(u.t.Context(), &ec2.RunInstancesInput{
		ImageId: aws.String(awsemulator.ImageAMD64), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), SubnetId: aws.String(made.Zones[0].SubnetID), InstanceType: "m5.large",
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeInstance, Tags: []ec2types.Tag{
			{Key: aws.String(ownerTag), Value: aws.String("owned")}, {Key: aws.String("Name"), Value: aws.String(name)},
		}}},
	})
	if err != nil {
		u.t.Fatal(err)
	}
	u.settle()
	return *out.Instances[0].InstanceId
}

// endpointService creates a load balancer and its endpoint service, as a cluster of the management account has.
func (u *user) endpointService(made infra.Output) string {
	u.t.Helper()
	balancers := elbv2.NewFromConfig(emulator.Config(u.account))
	balancer, err := balancers.CreateLoadBalancer(u.t.Context(), &elbv2.CreateLoadBalancerInput{
		Name: aws.String("nlb"), Type: elbv2types.LoadBalancerTypeEnumNetwork, Scheme: elbv2types.LoadBalancerSchemeEnumInternal, Subnets: []string{made.Zones[0].SubnetID},
		Tags: []elbv2types.Tag{{Key: aws.String(ownerTag), Value: aws.String("owned")}},
	})
	if err != nil {
		u.t.Fatal(err)
	}
	arns := []string{*balancer.LoadBalancers[0].LoadBalancerArn}
	active := elbv2.NewLoadBalancerAvailableWaiter(balancers, func(o *elbv2.LoadBalancerAvailableWaiterOptions) { o.MinDelay = 50 * time.Millisecond })
	if err := active.Wait(u.t.Context(), &elbv2.DescribeLoadBalancersInput{LoadBalancerArns: arns}, time.Minute); err != nil {
		u.t.Fatal(err)
	}
	service, err := ec2.NewFromConfig(emulator.Config(u.account)).CreateVpcEndpointServiceConfiguration(u.t.Context(), &ec2.CreateVpcEndpointServiceConfigurationInput{
		NetworkLoadBalancerArns: arns, AcceptanceRequired: aws.Bool(false),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeVpcEndpointService, Tags: []ec2types.Tag{{Key: aws.String(ownerTag), Value: aws.String("owned")}}}},
	})
	if err != nil {
		u.t.Fatal(err)
	}
	return *service.ServiceConfiguration.ServiceId
}

// managementObjects is an API server with one HostedCluster in the network.
func (u *user) managementObjects(infraID string, made infra.Output) {
	u.t.Helper()
	hc := map[string]any{
		"kind": "HostedCluster", "apiVersion": "hypershift.openshift.io/v1beta1", "metadata": map[string]any{"namespace": "clusters", "name": "demo"},
		"spec": map[string]any{
			"infraID": infraID, "dns": map[string]any{"baseDomain": domain, "publicZoneID": made.PublicZoneID, "privateZoneID": made.PrivateZoneID},
			"autoNode": map[string]any{"provisionerConfig": map[string]any{"name": "Karpenter", "karpenter": map[string]any{"platform": "AWS", "aws": map[string]any{"roleARN": "arn:aws:iam::111111111111:role/karpenter"}}}},
			"platform": map[string]any{"type": "AWS", "aws": map[string]any{"region": "us-east-1", "endpointAccess": "Private", "cloudProviderConfig": map[string]any{"vpc": made.VPCID}}},
		},
		"status": map[string]any{"controlPlaneEndpoint": map[string]any{"host": "demo.example.com", "port": 7443}},
	}
	pool := map[string]any{
		"kind": "NodePool", "apiVersion": "hypershift.openshift.io/v1beta1", "metadata": map[string]any{"namespace": "clusters", "name": "demo-a"},
		"spec": map[string]any{
			"clusterName": "demo",
			"platform":    map[string]any{"type": "AWS", "aws": map[string]any{"instanceType": "m5.large", "ami": "ami-0000000000000a064", "subnet": map[string]any{"id": made.Zones[0].SubnetID}}},
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const group = "hypershift.openshift.io"
		version := map[string]any{"groupVersion": group + "/v1beta1", "version": "v1beta1"}
		var answer any
		switch r.URL.Path {
		case "/api":
			answer = map[string]any{"kind": "APIVersions", "versions": []string{"v1"}}
		case "/apis":
			answer = map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{map[string]any{"name": group, "versions": []any{version}, "preferredVersion": version}}}
		case "/apis/" + group:
			answer = map[string]any{"kind": "APIGroup", "apiVersion": "v1", "name": group, "versions": []any{version}, "preferredVersion": version}
		case "/apis/" + group + "/v1beta1":
			answer = map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group + "/v1beta1", "resources": []any{
				map[string]any{"name": "hostedclusters", "kind": "HostedCluster", "namespaced": true, "verbs": []string{"get", "list"}},
				map[string]any{"name": "nodepools", "kind": "NodePool", "namespaced": true, "verbs": []string{"get", "list"}},
			}}
		case "/apis/" + group + "/v1beta1/hostedclusters":
			answer = map[string]any{"kind": "HostedClusterList", "apiVersion": group + "/v1beta1", "metadata": map[string]any{}, "items": []any{hc}}
		case "/apis/" + group + "/v1beta1/namespaces/clusters/nodepools":
			answer = map[string]any{"kind": "NodePoolList", "apiVersion": group + "/v1beta1", "metadata": map[string]any{}, "items": []any{pool}}
		case "/apis/" + group + "/v1beta1/namespaces/clusters/hostedclusters/demo":
			answer = hc
		default:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	u.t.Cleanup(server.Close)
	u.kubeconfig = filepath.Join(u.t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{}}]}`, server.URL)
	u.try(os.WriteFile(u.kubeconfig, []byte(text), 0o600))
}

func TestLeftoversAreListedByCostAndDeleted(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	made := u.created()
	u.must(u.createIAM()...)
	id := u.instance(made, "worker")
	service := u.endpointService(made)

	u.must("leftovers", "aws")
	if !strings.Contains(u.out.String(), "demo-x7k2p") || !strings.Contains(u.out.String(), "unknown") {
		t.Errorf("the infra ID is not listed:\n%s%s", u.out.String(), u.err.String())
	}
	if code := u.run("leftovers", "aws", "--infra-id", "demo-x7k2p"); code != cli.Remaining {
		t.Errorf("exit code %d\n%s", code, u.err.String())
	}
	lines := strings.Split(u.out.String(), "\n")
	row := func(words ...string) int {
		return slices.IndexFunc(lines, func(line string) bool {
			return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) })
		})
	}
	instance, zone, role := row("hourly", id), row("monthly", "hosted zone"), row("none", "Role", "control-plane-operator")
	if instance < 0 || zone < instance || role < zone || row("none", service) < 0 {
		t.Errorf("what costs most is not first:\n%s", u.out.String())
	}
	if row("dollars a month (list prices of us-east-1 on ", "1 instances by their size") < role {
		t.Errorf("the list does not end with a sum:\n%s", u.out.String())
	}
	if code := u.run("leftovers", "aws", "--infra-id", "demo-x7k2p", "--delete", "--yes"); code != cli.Usage || len(u.writes) > 0 {
		t.Errorf("without a management cluster: exit code %d, writes %v\n%s", code, u.writes, u.err.String())
	}
	if code := u.run("leftovers", "aws", "--infra-id", "demo-x7k2p", "--delete", "--no-management-cluster"); code != cli.Usage || len(u.writes) > 0 {
		t.Errorf("without --yes: exit code %d, writes %v", code, u.writes)
	}
	u.must("leftovers", "aws", "--infra-id", "demo-x7k2p", "--name", "demo", "--base-domain", domain, "--delete", "--no-management-cluster", "--yes")
	if left := u.owned(); len(left) > 0 {
		t.Errorf("left: %s", strings.Join(left, "\n"))
	}
	u.must("leftovers", "aws", "--infra-id", "demo-x7k2p")
	// EC2 lists the tags of the instance for another hour.
	if u.must("leftovers", "aws"); !strings.Contains(u.out.String(), "no resource has the tag of a cluster") {
		t.Errorf("the deleted cluster is listed:\n%s", u.out.String())
	}
}

func TestResourcesOfALivingClusterAreNotDeleted(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.created()
	u.managementObjects("demo-x7k2p", u.made())
	u.must("leftovers", "aws")
	if !strings.Contains(u.out.String(), "clusters/demo") {
		t.Errorf("the HostedCluster is not named:\n%s%s", u.out.String(), u.err.String())
	}
	before := len(u.owned())
	if code := u.run("leftovers", "aws", "--infra-id", "demo-x7k2p", "--delete", "--yes"); code != cli.Failed || !strings.Contains(u.err.String(), "clusters/demo") {
		t.Errorf("exit code %d\n%s", code, u.err.String())
	}
	if after := len(u.owned()); after != before || len(u.writes) > 0 {
		t.Errorf("%d of %d resources are left", after, before)
	}
}

func TestConsoleLogsHaveNoSecrets(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	made := u.created()
	id := u.instance(made, "worker/1")
	console := filepath.Join(t.TempDir(), "console")
	if err := os.WriteFile(console, []byte("booting\nkubeadm join --token abcdef.0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := emulator.SetConsole(t.Context(), id, console); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "consoles")
	u.must("console-logs", "aws", "--infra-id", "demo-x7k2p", "--output-dir", dir)
	text, err := os.ReadFile(filepath.Join(dir, "worker_1-"+id+".log"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "booting") || strings.Contains(string(text), "0123456789abcdef") {
		t.Errorf("the console is %s", text)
	}
	if code := u.run("console-logs", "aws", "--infra-id", "other", "--output-dir", dir); code != cli.Failed {
		t.Errorf("a cluster without instances: exit code %d", code)
	}
}

func TestCommandLinesThatAreNotCorrectCallNothing(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for _, args := range []string{
		"describe cluster", "describe cluster a b", "describe cluster a --name b", "describe cluster a -o yaml", "describe cluster a --show-conditions some", "describe cluster a",
		"create kubeconfig --port-forward", "create kubeconfig a --port 1", "dump cluster", "console-logs aws --infra-id a", "console-logs aws --output-dir d",
		"doctor -o yaml", "leftovers aws --delete", "install --private-platform GCP", "install render --outputs chart", "install --aws-private-region us-east-1 --private-platform AWS --external-dns-provider aws",
	} {
		if code := u.run(strings.Fields(args)...); code != cli.Usage || len(u.writes)+u.reads > 0 {
			t.Errorf("%s: exit code %d, %d calls\n%s", args, code, len(u.writes)+u.reads, u.err.String())
		}
	}
}

func TestInstallRenderNeedsNoCluster(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.must("install", "render", "--outputs", "values", "--oidc-storage-provider-s3-bucket-name", "docs", "--oidc-storage-provider-s3-region", "us-east-1")
	if want := "oidc:\n  bucket: docs\n  region: us-east-1\n"; u.out.String() != want {
		t.Errorf("got %s", u.out.String())
	}
}

func TestAccountIsCheckedForACluster(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	made := u.created()
	cfg := emulator.Config(u.account)
	cfg.Region = "us-east-1"
	used, quota, err := accountcheck.Addresses(t.Context(), cfg)
	if err != nil || used != 1 || quota < used {
		t.Errorf("%d of %d addresses: %v", used, quota, err)
	}
	for name, c := range map[string]struct {
		id, domain string
		private    bool
		want       string
	}{
		"the public zone":            {made.PublicZoneID, domain, false, ""},
		"the private zone":           {made.PrivateZoneID, domain, true, ""},
		"a zone above the domain":    {made.PublicZoneID, "team." + domain, false, ""},
		"a public zone as private":   {made.PublicZoneID, domain, true, "is public"},
		"a private zone as public":   {made.PrivateZoneID, domain, false, "is private"},
		"a zone of another domain":   {made.PublicZoneID, "other.org", false, "is not of the domain"},
		"a zone that does not exist": {"Z0000000000000000000", domain, false, "does not exist"},
	} {
		err := accountcheck.Zone(t.Context(), cfg, c.id, c.domain, c.private)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDeletedProviderIsCreatedAgain(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.created()
	u.must(u.createIAM()...)
	api := awsiam.NewFromConfig(emulator.Config(u.account))
	list, err := api.ListOpenIDConnectProviders(t.Context(), &awsiam.ListOpenIDConnectProvidersInput{})
	if err != nil || len(list.OpenIDConnectProviderList) != 1 {
		t.Fatal(list, err)
	}
	arn := list.OpenIDConnectProviderList[0].Arn
	if _, err := api.DeleteOpenIDConnectProvider(t.Context(), &awsiam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: arn}); err != nil {
		t.Fatal(err)
	}
	fix := []string{"fix", "dr-oidc-iam", "--infra-id", "demo-x7k2p", "--issuer", "https://documents.s3.us-east-1.amazonaws.com/demo-x7k2p"}
	if code := u.run(append(fix, "--plan")...); code != cli.Changes {
		t.Errorf("the plan has exit code %d\n%s", code, u.err.String())
	}
	u.must(fix...)
	if _, err := api.GetOpenIDConnectProvider(t.Context(), &awsiam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: arn}); err != nil {
		t.Error(err)
	}
	u.must(append(fix, "--plan")...)
	u.must(u.createIAM("--plan")...)
	if code := u.run("fix", "dr-oidc-iam", "--infra-id", "demo-x7k2p"); code != cli.Usage {
		t.Errorf("without the issuer: exit code %d", code)
	}
}
