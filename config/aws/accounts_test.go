// Package aws tests the scripts that prepare AWS accounts, with the command line of AWS and the emulator.
package aws

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/config/iam"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

var (
	emulator *awsemulator.Emulator
	path     string // with the command line of AWS
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		ctx := context.Background()
		folder, err := awsemulator.CommandLine(ctx, os.Stderr)
		if err == nil {
			path = folder + ":" + os.Getenv("PATH")
			emulator, err = awsemulator.Start(ctx, awsemulator.Options{})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer emulator.Stop()
		return emulator.Run(m)
	}())
}

// TestCustomerAccount prepares an account, is interrupted, continues, and deletes everything again.
func TestCustomerAccount(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("some hundred calls of a program written in Python")
	}
	ctx := t.Context()
	account := emulator.Account(t)
	c := customer{t: t, account: account, vpc: "", env: []string{"NAME=example", "INFRA_ID=example-x7k2p", "OIDC_BUCKET=docs", "ZONE_IDS=use1-az1 use1-az2"}}
	const issuer = "https://docs.s3.us-east-1.amazonaws.com/example-x7k2p"

	must(t, emulator.Fault(ctx, awsemulator.Fault{Kind: awsemulator.Denied, Service: "ec2", Action: "CreateDhcpOptions", Account: account}))
	if _, stderr, err := script(t, account, "customer-account.sh", "create", c.env...); err == nil || !strings.Contains(stderr, "CreateDhcpOptions") {
		t.Fatalf("the script did not stop at a call that was denied: %v\n%s", err, stderr)
	}
	stdout, stderr, err := script(t, account, "customer-account.sh", "create", c.env...)
	if err != nil {
		t.Fatalf("the script did not continue: %v\n%s", err, stderr)
	}

	have := exports(stdout)
	for _, variable := range variablesOfSamples(t) {
		if have[variable] == "" && variable != "RELEASE_IMAGE" && variable != "SUBNET_C" { // There are two zones.
			t.Errorf("the output does not set %s, which the samples need", variable)
		}
	}
	c.vpc = have["VPC"]
	kinds := map[string]int{}
	resources, err := emulator.Resources(ctx, account)
	must(t, err)
	for _, r := range resources {
		kinds[r.Kind]++
	}
	delete(kinds, "network-interface") // of the NAT gateway
	if diff := cmp.Diff(map[string]int{
		"vpc": 1, "dhcp-options": 1, "subnet": 4, "route-table": 2, "internet-gateway": 1, "nat-gateway": 1, "address": 1, "vpc-endpoint": 1,
		"hosted-zone": 1, "oidc-provider": 1, "role": 6, "instance-profile": 1,
	}, kinds); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}

	c.network(have["SUBNET_A"], have["SUBNET_B"], have["ZONE_A"])
	c.roles(issuer, map[string]string{"INFRA_ID": "example-x7k2p", "VPC": c.vpc, "LOCAL_ZONE_ID": have["LOCAL_ZONE_ID"]})
	zone, err := route53.NewFromConfig(emulator.Config(account)).GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: aws.String(have["LOCAL_ZONE_ID"])})
	must(t, err)
	equal(t, "private hosted zone", aws.ToString(zone.HostedZone.Name), names.LocalZone("example")+".")
	equal(t, "its VPC", aws.ToString(zone.VPCs[0].VPCId), c.vpc)

	if _, stderr, err := script(t, account, "customer-account.sh", "delete", c.env...); err != nil {
		t.Fatalf("deletion: %v\n%s", err, stderr)
	}
	left, err := emulator.Leftovers(ctx, account)
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}

// In China, ARNs have another partition, S3 has other host names, and EC2 has another name in conditions.
func TestCustomerAccountInChina(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("some hundred calls of a program written in Python")
	}
	ctx, account := t.Context(), emulator.NewAccount()
	env := []string{"AWS_REGION=cn-north-1", "NAME=example", "INFRA_ID=example-x7k2p", "OIDC_BUCKET=docs", "ZONE_IDS=cnn1-az1 cnn1-az2"}
	stdout, stderr, err := script(t, account, "customer-account.sh", "create", env...)
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	have := exports(stdout)
	equal(t, "PARTITION", have["PARTITION"], "aws-cn")
	equal(t, "ISSUER", have["ISSUER"], "docs.s3.cn-north-1.amazonaws.com.cn/example-x7k2p")

	cfg := emulator.Config(account)
	cfg.Region = "cn-north-1"
	client := awsiam.NewFromConfig(cfg)
	provider := "arn:aws-cn:iam::" + account + ":oidc-provider/" + have["ISSUER"]
	_, err = client.GetOpenIDConnectProvider(ctx, &awsiam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: &provider})
	must(t, err)
	for role, conditions := range map[string][]string{
		"example-x7k2p-control-plane-operator": nil, "example-x7k2p-cloud-controller": nil,
		"example-x7k2p-node-pool":                     {"ec2.amazonaws.com.cn", "ec2.*.amazonaws.com.cn"},
		"example-x7k2p-karpenter":                     {"ec2.amazonaws.com.cn"},
		"example-x7k2p-aws-ebs-csi-driver-controller": {"ec2.*.amazonaws.com.cn"},
	} {
		equal(t, "claims that "+role+" trusts", strings.HasPrefix(trusted(t, client, role), "aud="+names.WebIdentityAudience+" sub=hypershift:"), true)
		got, err := client.GetRolePolicy(ctx, &awsiam.GetRolePolicyInput{RoleName: &role, PolicyName: &role})
		must(t, err)
		text, err := url.QueryUnescape(aws.ToString(got.PolicyDocument))
		must(t, err)
		if strings.Contains(text, "arn:aws:") {
			t.Errorf("policy of %s has ARNs of another partition: %s", role, text)
		}
		for _, condition := range conditions {
			if !strings.Contains(text, `"`+condition+`"`) {
				t.Errorf("policy of %s does not allow %s", role, condition)
			}
		}
	}
	if strings.Contains(samples(t), "arn:aws:") || strings.Contains(samples(t), "amazonaws.com") {
		t.Error("the samples have ARNs or host names of one partition")
	}

	if _, stderr, err := script(t, account, "customer-account.sh", "delete", env...); err != nil {
		t.Fatalf("deletion: %v\n%s", err, stderr)
	}
	left, err := emulator.Leftovers(ctx, account)
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}

type customer struct {
	t            *testing.T
	account, vpc string
	env          []string
}

// network checks that machines in the private subnets resolve names and reach the internet, and that load balancers find subnets.
func (c customer) network(a, b, zoneA string) {
	t, ctx, client := c.t, c.t.Context(), ec2.NewFromConfig(emulator.Config(c.account))
	for _, attribute := range []ec2types.VpcAttributeName{ec2types.VpcAttributeNameEnableDnsSupport, ec2types.VpcAttributeNameEnableDnsHostnames} {
		is, err := client.DescribeVpcAttribute(ctx, &ec2.DescribeVpcAttributeInput{VpcId: &c.vpc, Attribute: attribute})
		must(t, err)
		if value := first(is.EnableDnsSupport, is.EnableDnsHostnames); value == nil || !aws.ToBool(value.Value) {
			t.Errorf("%s of the VPC is off", attribute)
		}
	}
	found, err := client.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: []ec2types.Filter{{Name: aws.String("vpc-id"), Values: []string{c.vpc}}}})
	must(t, err)
	tables, err := client.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{Filters: []ec2types.Filter{{Name: aws.String("vpc-id"), Values: []string{c.vpc}}}})
	must(t, err)
	got := map[string]string{}
	for _, s := range found.Subnets {
		tags := map[string]string{}
		for _, tag := range s.Tags {
			tags[*tag.Key] = *tag.Value
		}
		equal(t, "tag of the cluster on subnet "+*s.SubnetId, tags[names.ClusterTag("example-x7k2p")], "owned")
		what := *s.AvailabilityZoneId
		switch *s.SubnetId {
		case a:
			equal(t, "ZONE_A", zoneA, *s.AvailabilityZone)
			what = "A in " + what
		case b:
			what = "B in " + what
		}
		for _, role := range []string{"kubernetes.io/role/internal-elb", "kubernetes.io/role/elb"} {
			if tags[role] == "1" {
				got[what+" "+role] = route(tables.RouteTables, *s.SubnetId)
			}
		}
	}
	if diff := cmp.Diff(map[string]string{
		"A in use1-az1 kubernetes.io/role/internal-elb": "nat", "B in use1-az2 kubernetes.io/role/internal-elb": "nat",
		"use1-az1 kubernetes.io/role/elb": "igw", "use1-az2 kubernetes.io/role/elb": "igw",
	}, got); diff != "" {
		t.Errorf("subnets and the targets of their default routes (-want +got):\n%s", diff)
	}
}

// route returns the kind of the target of the default route of a subnet.
func route(tables []ec2types.RouteTable, subnet string) string {
	for _, table := range tables {
		if !slices.ContainsFunc(table.Associations, func(a ec2types.RouteTableAssociation) bool { return aws.ToString(a.SubnetId) == subnet }) {
			continue
		}
		for _, r := range table.Routes {
			if aws.ToString(r.DestinationCidrBlock) == "0.0.0.0/0" {
				kind, _, _ := strings.Cut(aws.ToString(r.GatewayId)+aws.ToString(r.NatGatewayId), "-")
				return kind
			}
		}
	}
	return ""
}

// roles checks that every role that the samples name exists, trusts the subject that the program of that role has, and has its policy.
func (c customer) roles(issuer string, variables map[string]string) {
	t, ctx, client := c.t, c.t.Context(), awsiam.NewFromConfig(emulator.Config(c.account))
	for role, of := range map[string]struct{ subject, file string }{
		"example-x7k2p-control-plane-operator":        {names.ControlPlaneOperatorSubject, iam.ControlPlaneOperator},
		"example-x7k2p-node-pool":                     {names.CAPIProviderSubject, iam.NodePoolManagement},
		"example-x7k2p-cloud-controller":              {names.CloudControllerSubject, iam.CloudController},
		"example-x7k2p-aws-ebs-csi-driver-controller": {names.StorageSubject, iam.Storage},
		"example-x7k2p-karpenter":                     {names.KarpenterSubject, iam.Karpenter},
	} {
		equal(t, "claims that "+role+" trusts", trusted(t, client, role), "aud="+names.WebIdentityAudience+" sub="+of.subject)
		want, err := iam.Fill(of.file, variables)
		must(t, err)
		got, err := client.GetRolePolicy(ctx, &awsiam.GetRolePolicyInput{RoleName: &role, PolicyName: &role})
		must(t, err)
		if diff := cmp.Diff(document(t, want), document(t, aws.ToString(got.PolicyDocument))); diff != "" {
			t.Errorf("policy of %s (-%s +got):\n%s", role, of.file, diff)
		}
	}
	for _, role := range rolesOfSamples(t) {
		if _, err := client.GetRole(ctx, &awsiam.GetRoleInput{RoleName: &role}); err != nil {
			t.Errorf("the samples name role %s: %v", role, err)
		}
	}
	profile, err := client.GetInstanceProfile(ctx, &awsiam.GetInstanceProfileInput{InstanceProfileName: aws.String(names.InstanceProfile("example-x7k2p"))})
	must(t, err)
	equal(t, "role of the instance profile", aws.ToString(profile.InstanceProfile.Roles[0].RoleName), names.WorkerRole("example-x7k2p"))
	provider := "arn:aws:iam::" + c.account + ":oidc-provider/" + strings.TrimPrefix(issuer, "https://")
	made, err := client.GetOpenIDConnectProvider(ctx, &awsiam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: &provider})
	must(t, err)
	equal(t, "audiences of the OIDC provider", strings.Join(made.ClientIDList, " "), names.WebIdentityAudience)
	equal(t, "thumbprints of the OIDC provider", strings.Join(made.ThumbprintList, " "), clusteriam.S3Thumbprint)
}

func TestManagementAccount(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("some fifty calls of a program written in Python")
	}
	ctx := t.Context()
	account := emulator.Account(t)
	client := awsiam.NewFromConfig(emulator.Config(account))
	bucket := "docs-" + account
	issuer := "https://oidc.eks.us-east-1.amazonaws.com/id/" + account
	env := []string{"RETRY_SECONDS=0", "OIDC_BUCKET=" + bucket, "ISSUER=" + issuer, "CLUSTER=management", "PUBLIC_ZONE_ID=Z0123456789", "PUBLIC_DOMAIN=example.com"}

	if _, stderr, err := script(t, account, "management-account.sh", "create", env...); err == nil || !strings.Contains(stderr, "eksctl utils associate-iam-oidc-provider") {
		t.Fatalf("the script continued without an OIDC provider: %v\n%s", err, stderr)
	}
	_, err := client.CreateOpenIDConnectProvider(ctx, &awsiam.CreateOpenIDConnectProviderInput{Url: &issuer, ClientIDList: []string{"sts.amazonaws.com"}, ThumbprintList: []string{clusteriam.S3Thumbprint}})
	must(t, err)
	var stdout string
	for _, attempt := range []string{"first", "second"} {
		var stderr string
		// S3 knows seconds later that public policies are not blocked any more.
		must(t, emulator.Fault(ctx, awsemulator.Fault{Kind: awsemulator.Denied, Service: "s3", Action: "PutBucketPolicy", Account: account, Count: 3}))
		if stdout, stderr, err = script(t, account, "management-account.sh", "create", env...); err != nil {
			t.Fatalf("%s attempt: %v\n%s", attempt, err, stderr)
		}
	}

	var values, defaults map[string]any
	must(t, yaml.UnmarshalStrict([]byte(stdout), &values))
	text, err := os.ReadFile("../helm/hypershift/values.yaml")
	must(t, err)
	must(t, yaml.Unmarshal(text, &defaults))
	unknown(t, "", values, defaults)
	set := values["aws"].(map[string]any)
	equal(t, "aws.roleARN", set["roleARN"], any("arn:aws:iam::"+account+":role/hypershift-operator"))
	// Without a class, a Service that becomes one of type LoadBalancer gets a load balancer of another controller.
	equal(t, "loadBalancers.class", values["loadBalancers"].(map[string]any)["class"], any("service.k8s.aws/nlb"))
	equal(t, "oidc.bucket", values["oidc"].(map[string]any)["bucket"], any(bucket))

	for role, of := range map[string]struct{ serviceAccount, file string }{
		"hypershift-operator":     {"hypershift-operator", iam.HypershiftOperator},
		"hypershift-external-dns": {"external-dns", iam.ExternalDNS},
	} {
		equal(t, "claims that "+role+" trusts", trusted(t, client, role), "aud=sts.amazonaws.com sub=system:serviceaccount:hypershift:"+of.serviceAccount)
		want, err := iam.Fill(of.file, map[string]string{"OIDC_BUCKET": bucket, "PUBLIC_ZONE_ID": "Z0123456789"})
		must(t, err)
		got, err := client.GetRolePolicy(ctx, &awsiam.GetRolePolicyInput{RoleName: &role, PolicyName: &role})
		must(t, err)
		if diff := cmp.Diff(document(t, want), document(t, aws.ToString(got.PolicyDocument))); diff != "" {
			t.Errorf("policy of %s (-%s +got):\n%s", role, of.file, diff)
		}
	}
	policy, err := s3.NewFromConfig(emulator.Config(account), func(o *s3.Options) { o.UsePathStyle = true }).GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: &bucket})
	must(t, err)
	if !strings.Contains(aws.ToString(policy.Policy), `"s3:GetObject", "Resource": "arn:aws:s3:::`+bucket+`/*"`) {
		t.Errorf("objects are not readable: %s", aws.ToString(policy.Policy))
	}

	if _, stderr, err := script(t, account, "management-account.sh", "delete", env...); err != nil {
		t.Fatalf("deletion: %v\n%s", err, stderr)
	}
	left, err := emulator.Leftovers(ctx, account)
	must(t, err)
	if len(left) != 1 || !strings.HasPrefix(left[0], "oidc-provider ") {
		t.Errorf("left beside the provider of EKS:\n%s", strings.Join(left, "\n"))
	}
}

// A look-up that fails is not a missing resource.
func TestLookUpThatIsDeniedEndsTheScript(t *testing.T) {
	t.Parallel()
	account := emulator.Account(t)
	must(t, emulator.Fault(t.Context(), awsemulator.Fault{Kind: awsemulator.Denied, Service: "ec2", Action: "DescribeVpcs", Account: account}))
	_, stderr, err := script(t, account, "customer-account.sh", "create", "NAME=example", "INFRA_ID=example-x7k2p", "OIDC_BUCKET=docs", "ZONE_IDS=use1-az1")
	if err == nil || !strings.Contains(stderr, "DescribeVpcs") {
		t.Errorf("the script did not stop: %v\n%s", err, stderr)
	}
	left, err := emulator.Leftovers(t.Context(), account)
	must(t, err)
	if len(left) > 0 {
		t.Errorf("created although the look-up was denied: %v", left)
	}
}

// script runs one of the scripts as the root of an account.
func script(t *testing.T, account, name, argument string, env ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, diagnostics bytes.Buffer
	command := exec.CommandContext(t.Context(), "bash", "./"+name, argument)
	command.Env = slices.Concat([]string{"PATH=" + path, "HOME=" + t.TempDir()}, emulator.Env(account), env)
	command.Stdout, command.Stderr = &out, &diagnostics
	err = command.Run()
	return out.String(), diagnostics.String(), err
}

var assignment = regexp.MustCompile(`([A-Z_]+)=(\S+)`)

func exports(text string) map[string]string {
	set := map[string]string{}
	for _, found := range assignment.FindAllStringSubmatch(text, -1) {
		set[found[1]] = found[2]
	}
	return set
}

// samples returns the manifests of config/samples for clusters in AWS, without comments.
func samples(t *testing.T) string {
	files, err := filepath.Glob("../samples/*.yaml")
	must(t, err)
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		if !strings.Contains(string(text), "type: AWS") {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "#") {
				all.WriteString(line)
			}
		}
	}
	return all.String()
}

func variablesOfSamples(t *testing.T) []string {
	found := map[string]bool{}
	for _, match := range regexp.MustCompile(`\$\{([A-Z_]+)\}`).FindAllStringSubmatch(samples(t), -1) {
		found[match[1]] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func rolesOfSamples(t *testing.T) []string {
	found := map[string]bool{}
	for _, match := range regexp.MustCompile(`:role/\$\{INFRA_ID\}(-[a-z-]+)`).FindAllStringSubmatch(samples(t), -1) {
		found["example-x7k2p"+match[1]] = true
	}
	if len(found) == 0 {
		t.Error("the samples name no role")
	}
	return slices.Sorted(maps.Keys(found))
}

// trusted returns the claims in the trust policy of a role.
func trusted(t *testing.T, client *awsiam.Client, role string) string {
	t.Helper()
	got, err := client.GetRole(t.Context(), &awsiam.GetRoleInput{RoleName: &role})
	must(t, err)
	var policy struct {
		Statement []struct {
			Action    string
			Principal map[string]string
			Condition map[string]map[string]string
		}
	}
	decoded, err := url.QueryUnescape(aws.ToString(got.Role.AssumeRolePolicyDocument))
	must(t, err)
	must(t, json.Unmarshal([]byte(decoded), &policy))
	statement := policy.Statement[0]
	_, issuer, _ := strings.Cut(statement.Principal["Federated"], ":oidc-provider/")
	var claims []string
	for key, value := range statement.Condition["StringEquals"] {
		claims = append(claims, strings.TrimPrefix(key, issuer+":")+"="+value)
	}
	slices.Sort(claims)
	equal(t, "action of "+role, statement.Action, "sts:AssumeRoleWithWebIdentity")
	return strings.Join(claims, " ")
}

// document decodes a policy. IAM returns policies in the encoding of URLs.
func document(t *testing.T, text string) any {
	t.Helper()
	if strings.HasPrefix(text, "%7B") {
		var err error
		text, err = url.QueryUnescape(text)
		must(t, err)
	}
	var value any
	must(t, json.Unmarshal([]byte(text), &value))
	return value
}

// unknown reports values that the chart does not have.
func unknown(t *testing.T, at string, values, defaults map[string]any) {
	for key, value := range values {
		known, ok := defaults[key]
		if !ok {
			t.Errorf("the chart has no value %s%s", at, key)
		}
		if inner, ok := value.(map[string]any); ok {
			below, _ := known.(map[string]any)
			unknown(t, at+key+".", inner, below)
		}
	}
}

func first(a, b *ec2types.AttributeBooleanValue) *ec2types.AttributeBooleanValue {
	if a != nil {
		return a
	}
	return b
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
