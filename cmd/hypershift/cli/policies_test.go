package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/google/go-cmp/cmp"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// policies is the directory of the policies for the users of the command line, a file for each command.
const policies = "../../../config/iam/commandline"

// withoutCall are actions that a policy allows although the test makes no such call, with the reason.
var withoutCall = map[string]map[string]string{
	"create-infra": {
		"route53:ListHostedZonesByVPC":       "finds the zones of a run that ended before it recorded them",
		"route53:AssociateVPCWithHostedZone": "repairs the association of a private zone, which cannot be removed while it is the last one",
	},
	"destroy-infra": {
		"ec2:DescribeTags":                 "when a deletion is refused, because another one has completed",
		"ec2:DisassociateRouteTable":       "for a subnet of another owner in a route table of the cluster",
		"route53:ChangeResourceRecordSets": "deletes the records that the operators of a hosted cluster left behind",
	},
	"create-iam": {
		"iam:AddClientIDToOpenIDConnectProvider": "repairs the audiences of the provider; the emulator cannot remove one",
	},
	"create-bastion": {
		"ec2:DescribeVpcEndpoints": "for a subnet without a route to the internet",
	},
	"destroy-cli-role": {
		"iam:DetachRolePolicy": "for managed policies that another tool has attached",
	},
	"fix-dr-oidc-iam": {
		"iam:AddClientIDToOpenIDConnectProvider": "repairs the audiences of the provider; the emulator cannot remove one",
		"iam:TagOpenIDConnectProvider":           "repairs the tags of a provider that exists",
	},
	"leftovers-delete": {
		"ec2:DescribeTags":                 "when a deletion is refused, because another one has completed",
		"ec2:DisassociateRouteTable":       "for a subnet of another owner in a route table of the cluster",
		"ec2:RejectVpcEndpointConnections": "for an endpoint service with connections",
		"iam:DetachRolePolicy":             "for managed policies that another tool has attached",
		"route53:ChangeResourceRecordSets": "deletes the records that the operators of a hosted cluster left behind",
	},
	"destroy-bastion": {
		"iam:DetachRolePolicy": "for managed policies that another tool has attached",
	},
	"destroy-iam": {
		"iam:DetachRolePolicy": "for managed policies that another tool has attached",
	},
}

// addedTo are policies that a command needs in addition to another policy.
var addedTo = map[string]string{
	"create-infra-proxy": "create-infra", "create-infra-workers": "create-infra",
	"create-infra-vpc-owner": "create-infra", "destroy-infra-vpc-owner": "destroy-infra",
}

// A user with the policy of a command can run the command, and a policy allows no other call.
func TestPoliciesOfCommandsAreTheirCalls(t *testing.T) {
	if *update {
		for command, actions := range calls(t, func(string) string { return "" }) {
			for action := range withoutCall[command] {
				actions = append(actions, action)
			}
			if err := os.WriteFile(filepath.Join(policies, command+".json"), policy(t, command, actions), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	used := calls(t, func(command string) string {
		text, err := os.ReadFile(filepath.Join(policies, command+".json"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	})
	for command, actions := range used {
		text, err := os.ReadFile(filepath.Join(policies, command+".json"))
		if err != nil {
			t.Fatal(err)
		}
		want := allowedBy(t, text)
		for action, reason := range withoutCall[command] {
			if slices.Contains(actions, action) {
				t.Errorf("%s: %s is called, and has a reason for not being called: %s", command, action, reason)
			}
			actions = append(actions, action)
		}
		slices.Sort(actions)
		if diff := cmp.Diff(actions, want); diff != "" {
			t.Errorf("%s.json (-called +allowed); go test ./cmd/hypershift/cli -run TestPoliciesOfCommands -args -update\n%s", command, diff)
		}
		if diff := cmp.Diff(string(policy(t, command, actions)), string(text)); diff != "" {
			t.Errorf("%s.json is not generated (-want +got):\n%s", command, diff)
		}
	}
	page, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(policies + "/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := filepath.Base(file); used[strings.TrimSuffix(name, ".json")] == nil || !bytes.Contains(page, []byte(name)) {
			t.Errorf("%s is of no command, or not in docs/cli.md", name)
		}
	}
}

// Policies of other clusters do not allow the commands of this one.
func TestPolicyOfAnotherClusterIsRefused(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.must(createInfra("us-east-1a")...)
	text, err := os.ReadFile(filepath.Join(policies, "destroy-infra.json"))
	if err != nil {
		t.Fatal(err)
	}
	role := u.role("other", strings.ReplaceAll(string(text), "${INFRA_ID}", "other-x7k2p"))
	if code := u.run(destroyInfra("--role-arn", role)...); code != cli.Failed || !strings.Contains(u.err.String(), "add the permission") {
		t.Errorf("exit code %d\n%s", code, u.err.String())
	}
	if left := kinds(u.owned()); left["vpc"] != 1 || left["subnet"] != 2 || left["nat-gateway"] != 1 {
		t.Errorf("left: %v", left)
	}
}

// role creates a role that the user may assume.
func (u *user) role(name, policy string) string { return u.roleIn(u.account, name, policy) }

func (u *user) roleIn(account, name, policy string) string {
	u.t.Helper()
	var arn string
	err := emulator.Given(u.t.Context(), account, func() (err error) {
		arn, err = emulator.Role(u.t.Context(), account, name, awsemulator.TrustRole("arn:aws:iam::"+u.account+":root"))
		if err == nil && policy != "" {
			err = emulator.Permit(u.t.Context(), account, name, policy)
		}
		return err
	})
	if err != nil {
		u.t.Fatal(err)
	}
	return arn
}

// calls runs all commands, each as a role with its policy, and returns the actions that they need.
func calls(t *testing.T, policyOf func(command string) string) map[string][]string {
	t.Helper()
	u := newUser(t)
	bucket := "documents-" + u.account
	commands := map[string]string{} // by the ARN of the role
	role := func(account, command string) string {
		arn := "arn:aws:iam::" + account + ":role/user-" + command
		if commands[arn] == "" {
			text := policyOf(command)
			if base := addedTo[command]; base != "" {
				text = joined(t, policyOf(base), text)
			}
			text = strings.NewReplacer("${INFRA_ID}", "demo-x7k2p", "${OIDC_BUCKET}", bucket, "${NAME_PREFIX}", "hypershift").Replace(text)
			commands[u.roleIn(account, "user-"+command, text)] = command
		}
		return arn
	}
	as := func(command string) []string { return []string{"--role-arn", role(u.account, command)} }
	ofOwner := func(command string) []string { return []string{"--vpc-owner-role-arn", role(u.vpcOwner, command)} }
	u.must(createInfra("us-east-1a,us-east-1b", append(as("create-infra"), "--output-file", u.infraJSON())...)...)
	u.changeNetwork()
	u.must(createInfra("us-east-1a,us-east-1b", as("create-infra")...)...)
	for range 2 {
		u.settle()
		u.must(createBastion(as("create-bastion")...)...)
		u.changeBastion()
	}
	u.must(destroyBastion(as("destroy-bastion")...)...)
	iam := append(as("create-iam"), "--kms-key-arn", "arn:aws:kms:us-east-1:111111111111:key/k", "--auto-node")
	u.must(u.createIAM(iam...)...)
	u.changeRoles()
	u.must(u.createIAM(iam...)...)
	u.must(append([]string{"create", "iam", "aws", "--infra-id", "demo-x7k2p", "--public-zone-id", "Z1", "--private-zone-id", "Z2", "--local-zone-id", "Z3",
		"--oidc-storage-provider-s3-bucket-name", "documents"}, as("create-iam")...)...)
	u.checkPrerequisites(as("doctor"))
	u.must(append([]string{"create", "nodepool", "aws", "--cluster-name", "demo", "--name", "more", "--zone", "us-east-1b", "--release-image", "example.com/release:1", "--render"}, as("create-nodepool")...)...)
	u.losesProvider()
	u.must(append([]string{"fix", "dr-oidc-iam", "--infra-id", "demo-x7k2p", "--issuer", "https://documents.s3.us-east-1.amazonaws.com/demo-x7k2p"}, as("fix-dr-oidc-iam")...)...)
	u.leaveBehind()
	u.must(append([]string{"console-logs", "aws", "--infra-id", "demo-x7k2p", "--output-dir", t.TempDir()}, as("console-logs")...)...)
	u.must(append([]string{"leftovers", "aws"}, as("leftovers")...)...)
	if code := u.run(append([]string{"leftovers", "aws", "--infra-id", "demo-x7k2p", "--name", "demo", "--base-domain", domain}, as("leftovers")...)...); code != cli.Remaining {
		t.Errorf("leftovers: exit code %d\n%s", code, u.err.String())
	}
	u.must(destroyIAM(as("destroy-iam")...)...)
	u.must(destroyInfra(as("destroy-infra")...)...)

	withProxy := createInfra("us-east-1a,us-east-1b", append(as("create-infra-proxy"), "--enable-secure-proxy", "--output-file", u.infraJSON())...)
	for range 2 {
		u.must(withProxy...)
		u.changeNetwork()
		u.changeProxy()
	}
	u.must(destroyInfra(as("destroy-infra")...)...)

	workers := createInfra("us-east-1a", append(as("create-infra-workers"), "--worker-security-group", "--output-file", u.infraJSON())...)
	for range 2 {
		u.must(workers...)
		u.changeWorkerGroup()
	}
	u.must(destroyInfra(as("destroy-infra")...)...)

	u.sharesVPC(false)
	shared := createInfra("us-east-1a,us-east-1b", slices.Concat(as("create-infra-shared-vpc"), ofOwner("create-infra-vpc-owner"), []string{"--worker-security-group", "--output-file", u.infraJSON()})...)
	for range 2 {
		u.must(shared...)
		u.changeSharing()
		u.changeWorkerGroup()
	}
	u.must(u.createIAM(append(as("create-iam"), ofOwner("create-iam")...)...)...)
	u.must(destroyIAM(append(as("destroy-iam"), ofOwner("destroy-iam")...)...)...)
	u.must(destroyInfra(append(as("destroy-infra"), ofOwner("destroy-infra-vpc-owner")...)...)...)

	u.must(createInfra("us-east-1a", "--output-file", u.infraJSON())...)
	u.must(u.createIAM()...)
	u.leaveBehind()
	u.endpointService(u.made())
	u.must(append([]string{"leftovers", "aws", "--infra-id", "demo-x7k2p", "--name", "demo", "--base-domain", domain, "--delete", "--no-management-cluster", "--yes"}, as("leftovers-delete")...)...)

	for range 2 {
		u.must(createCLIRole(as("create-cli-role")...)...)
		u.changeCLIRole()
	}
	u.must(destroyCLIRole(as("destroy-cli-role")...)...)
	issuer := u.issuer()
	for range 2 {
		u.must(createBucket(bucket, as("create-oidc-bucket")...)...)
		u.must(createOperatorRoles(issuer, bucket, as("create-operator-roles")...)...)
		u.changeManagement(bucket)
	}
	u.must(destroyOperatorRoles(as("destroy-operator-roles")...)...)
	u.must(destroyBucket(bucket, as("destroy-oidc-bucket")...)...)
	if left := u.owned(); len(left) > 0 {
		t.Errorf("left: %s", strings.Join(left, "\n"))
	}

	log, err := emulator.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	used := map[string][]string{}
	for i, call := range log {
		command := commands[call.Role]
		if command == "" {
			continue
		}
		used[command] = append(used[command], call.Permissions...)
		// S3 denies a public policy until it knows that it is not blocked any more.
		repeated := slices.ContainsFunc(log[i+1:], func(later awsemulator.Call) bool {
			return later.Role == call.Role && later.Name() == call.Name() && later.Outcome == "ok"
		})
		if (call.Outcome == "UnauthorizedOperation" || strings.HasPrefix(call.Outcome, "AccessDenied")) && !repeated {
			t.Errorf("%s may not call %s: %v", command, call.Name(), call.Params)
		}
	}
	for command, actions := range used {
		slices.Sort(actions)
		used[command] = slices.Compact(actions)
	}
	for command, base := range addedTo {
		more := slices.DeleteFunc(used[command], func(action string) bool {
			return action != "ec2:CreateTags" && (slices.Contains(used[base], action) || withoutCall[base][action] != "")
		})
		// Tags are allowed for the types of resources that the actions of a policy create.
		if !slices.ContainsFunc(more, func(action string) bool { return createdBy[strings.TrimPrefix(action, "ec2:")] != nil }) {
			more = slices.DeleteFunc(more, func(action string) bool { return action == "ec2:CreateTags" })
		}
		used[command] = more
	}
	return used
}

// joined returns a policy that allows the calls of both. Without policies, everything is allowed.
func joined(t *testing.T, a, b string) string {
	t.Helper()
	if a == "" || b == "" {
		return ""
	}
	var all policyDocument
	for _, text := range []string{a, b} {
		var document policyDocument
		if err := json.Unmarshal([]byte(text), &document); err != nil {
			t.Fatal(err)
		}
		all.Version, all.Statement = document.Version, append(all.Statement, document.Statement...)
	}
	for i := range all.Statement {
		all.Statement[i].Sid = fmt.Sprintf("Statement%d", i)
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkPrerequisites runs doctor. The API server of the test has only a HostedCluster, so that other checks fail.
func (u *user) checkPrerequisites(as []string) {
	u.t.Helper()
	u.managementObjects("demo-x7k2p", u.made())
	u.try(emulator.Given(u.t.Context(), u.account, func() error {
		_, err := emulator.Role(u.t.Context(), u.account, "AWSServiceRoleForEC2Spot", `{"Version":"2012-10-17","Statement":[]}`)
		return err
	}))
	if code := u.run(append([]string{"doctor", "demo"}, as...)...); code != cli.Failed {
		u.t.Errorf("doctor: exit code %d\n%s", code, u.err.String())
	}
	for line := range strings.Lines(u.out.String()) {
		if strings.Contains(line, u.account) && !strings.HasPrefix(line, "passed") {
			u.t.Errorf("doctor: %s", line)
		}
	}
}

// changeNetwork changes attributes that create infra repairs.
func (u *user) changeNetwork() {
	u.t.Helper()
	ctx, e, made := u.t.Context(), ec2.NewFromConfig(emulator.Config(u.account)), u.made()
	_, err := e.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: []string{made.Zones[0].SubnetID}, Tags: []ec2types.Tag{{Key: aws.String("kubernetes.io/role/internal-elb")}}})
	u.try(err)
	_, err = e.ModifyVpcAttribute(ctx, &ec2.ModifyVpcAttributeInput{VpcId: aws.String(made.VPCID), EnableDnsHostnames: &ec2types.AttributeBooleanValue{Value: aws.Bool(false)}})
	u.try(err)
	tables, err := e.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{Filters: []ec2types.Filter{{Name: aws.String("tag:Name"), Values: []string{"demo-x7k2p-private-us-east-1a", "demo-x7k2p-private-us-east-1b"}}}})
	u.try(err)
	first, second := tables.RouteTables[0], tables.RouteTables[1]
	gateways, err := e.DescribeInternetGateways(ctx, &ec2.DescribeInternetGatewaysInput{})
	u.try(err)
	// With a proxy, private subnets have no such route.
	if len(made.ProxyAddr) == 0 {
		_, err = e.ReplaceRoute(ctx, &ec2.ReplaceRouteInput{RouteTableId: first.RouteTableId, DestinationCidrBlock: aws.String("0.0.0.0/0"), GatewayId: gateways.InternetGateways[0].InternetGatewayId})
		u.try(err)
	}
	for _, a := range first.Associations {
		_, err = e.ReplaceRouteTableAssociation(ctx, &ec2.ReplaceRouteTableAssociationInput{AssociationId: a.RouteTableAssociationId, RouteTableId: second.RouteTableId})
		u.try(err)
	}
	endpoints, err := e.DescribeVpcEndpoints(ctx, &ec2.DescribeVpcEndpointsInput{})
	u.try(err)
	_, err = e.ModifyVpcEndpoint(ctx, &ec2.ModifyVpcEndpointInput{VpcEndpointId: endpoints.VpcEndpoints[0].VpcEndpointId, RemoveRouteTableIds: []string{*second.RouteTableId}})
	u.try(err)
}

// changeRoles changes attributes that create iam repairs.
func (u *user) changeRoles() {
	u.t.Helper()
	ctx, i := u.t.Context(), awsiam.NewFromConfig(emulator.Config(u.account))
	role := aws.String("demo-x7k2p-node-pool")
	_, err := i.UpdateAssumeRolePolicy(ctx, &awsiam.UpdateAssumeRolePolicyInput{RoleName: role, PolicyDocument: aws.String(awsemulator.TrustRole("arn:aws:iam::" + u.account + ":root"))})
	u.try(err)
	source := []string{"hypershift.openshift.io/source"}
	_, err = i.UntagRole(ctx, &awsiam.UntagRoleInput{RoleName: role, TagKeys: source})
	u.try(err)
	_, err = i.UntagInstanceProfile(ctx, &awsiam.UntagInstanceProfileInput{InstanceProfileName: aws.String("demo-x7k2p-worker"), TagKeys: source})
	u.try(err)
	providers, err := i.ListOpenIDConnectProviders(ctx, &awsiam.ListOpenIDConnectProvidersInput{})
	u.try(err)
	provider := providers.OpenIDConnectProviderList[0].Arn
	_, err = i.UntagOpenIDConnectProvider(ctx, &awsiam.UntagOpenIDConnectProviderInput{OpenIDConnectProviderArn: provider, TagKeys: source})
	u.try(err)
}

// changeCLIRole changes attributes that create iam cli-role repairs.
func (u *user) changeCLIRole() {
	u.t.Helper()
	ctx, i, role := u.t.Context(), awsiam.NewFromConfig(emulator.Config(u.account)), aws.String("hypershift-cli-demo-x7k2p")
	_, err := i.UpdateAssumeRolePolicy(ctx, &awsiam.UpdateAssumeRolePolicyInput{RoleName: role, PolicyDocument: aws.String(awsemulator.TrustRole("arn:aws:iam::1:root"))})
	u.try(err)
	_, err = i.UntagRole(ctx, &awsiam.UntagRoleInput{RoleName: role, TagKeys: []string{"hypershift.openshift.io/source"}})
	u.try(err)
}

// losesProvider deletes the OIDC provider of the cluster by hand.
func (u *user) losesProvider() {
	u.t.Helper()
	i := awsiam.NewFromConfig(emulator.Config(u.account))
	providers, err := i.ListOpenIDConnectProviders(u.t.Context(), &awsiam.ListOpenIDConnectProvidersInput{})
	u.try(err)
	_, err = i.DeleteOpenIDConnectProvider(u.t.Context(), &awsiam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: providers.OpenIDConnectProviderList[0].Arn})
	u.try(err)
}

// leaveBehind creates the remains of a hosted cluster.
func (u *user) leaveBehind() {
	u.t.Helper()
	ctx, e, made := u.t.Context(), ec2.NewFromConfig(emulator.Config(u.account)), u.made()
	tags := func(kind ec2types.ResourceType) []ec2types.TagSpecification {
		return []ec2types.TagSpecification{{ResourceType: kind, Tags: []ec2types.Tag{{Key: aws.String("kubernetes.io/cluster/demo-x7k2p"), Value: aws.String("owned")}}}}
	}
	group, err := e.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{GroupName: aws.String("nodes"), Description: aws.String("nodes"), VpcId: aws.String(made.VPCID), TagSpecifications: tags(ec2types.ResourceTypeSecurityGroup)})
	u.try(err)
	_, err = e.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: group.GroupId, IpPermissions: []ec2types.IpPermission{
		{IpProtocol: aws.String("-1"), UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: group.GroupId}}},
	}})
	u.try(err)
	_, err = e.RunInstances(ctx, &ec2.RunInstancesInput{
		ImageId: aws.String(awsemulator.ImageAMD64), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "m5.large",
		SubnetId: aws.String(made.Zones[0].SubnetID), SecurityGroupIds: []string{*group.GroupId}, TagSpecifications: tags(ec2types.ResourceTypeInstance),
	})
	u.try(err)
	elb := elbv2.NewFromConfig(emulator.Config(u.account))
	owned := []elbtypes.Tag{{Key: aws.String("kubernetes.io/cluster/demo-x7k2p"), Value: aws.String("owned")}}
	_, err = elb.CreateLoadBalancer(ctx, &elbv2.CreateLoadBalancerInput{Name: aws.String("apps"), Type: elbtypes.LoadBalancerTypeEnumNetwork, Subnets: []string{made.Zones[0].SubnetID}, Tags: owned})
	u.try(err)
	_, err = elb.CreateTargetGroup(ctx, &elbv2.CreateTargetGroupInput{Name: aws.String("apps"), Protocol: elbtypes.ProtocolEnumTcp, Port: aws.Int32(443), VpcId: aws.String(made.VPCID), Tags: owned})
	u.try(err)
}

// --- The policies

type policyStatement struct {
	Sid       string                    `json:"Sid"`
	Effect    string                    `json:"Effect"`
	Action    []string                  `json:"Action"`
	Resource  any                       `json:"Resource"`
	Condition map[string]map[string]any `json:"Condition,omitempty"`
}

type policyDocument struct {
	Version   string            `json:"Version"`
	Statement []policyStatement `json:"Statement"`
}

// scope is where a policy allows an action.
type scope struct {
	sid, resource string
	condition     map[string]map[string]any
}

const clusterTag = "kubernetes.io/cluster/${INFRA_ID}"

func equals(key string, value any) map[string]map[string]any {
	return map[string]map[string]any{"StringEquals": {key: value}}
}

var anywhere = scope{"Reads", "*", nil}

// titles of the types of EC2 resources in names of statements.
var titles = map[string]string{
	"dhcp-options": "DHCPOptions", "elastic-ip": "Addresses", "instance": "Instances", "internet-gateway": "InternetGateways", "natgateway": "NATGateways",
	"network-interface": "NetworkInterfaces", "volume": "Volumes", "route-table": "RouteTables", "security-group": "SecurityGroups", "subnet": "Subnets", "vpc": "VPCs", "vpc-endpoint": "Endpoints", "vpc-endpoint-service": "EndpointServices",
}

func created(kinds ...string) (all []scope) {
	for _, kind := range kinds {
		all = append(all, scope{"New" + titles[kind], "arn:aws:ec2:*:*:" + kind + "/*", equals("aws:RequestTag/"+clusterTag, "owned")})
	}
	return all
}

func existing(kinds ...string) (all []scope) {
	for _, kind := range kinds {
		all = append(all, scope{titles[kind] + "OfTheCluster", "arn:aws:ec2:*:*:" + kind + "/*", equals("aws:ResourceTag/"+clusterTag, "owned")})
	}
	return all
}

// createdBy are the types of the resources that an action creates.
var createdBy = map[string][]string{
	"AllocateAddress": {"elastic-ip"}, "CreateDhcpOptions": {"dhcp-options"}, "CreateInternetGateway": {"internet-gateway"}, "CreateNatGateway": {"natgateway"},
	"CreateRouteTable": {"route-table"}, "CreateSecurityGroup": {"security-group"}, "CreateSubnet": {"subnet"}, "CreateVpc": {"vpc"}, "CreateVpcEndpoint": {"vpc-endpoint"},
	"RunInstances": {"instance", "network-interface", "volume"},
}

// changedBy are the types of existing resources of the cluster that an action needs.
var changedBy = map[string][]string{
	"AssociateDhcpOptions": {"dhcp-options", "vpc"}, "AssociateRouteTable": {"route-table", "subnet"}, "AttachInternetGateway": {"internet-gateway", "vpc"},
	"CreateNatGateway": {"elastic-ip", "subnet"}, "CreateRoute": {"route-table"}, "CreateRouteTable": {"vpc"}, "CreateSubnet": {"vpc"},
	"CreateVpcEndpoint": {"route-table", "vpc"}, "ModifyVpcAttribute": {"vpc"}, "ModifyVpcEndpoint": {"route-table", "vpc-endpoint"}, "ReplaceRoute": {"route-table"},
	"DeleteDhcpOptions": {"dhcp-options"}, "DeleteInternetGateway": {"internet-gateway"}, "DeleteNatGateway": {"natgateway"}, "DeleteRouteTable": {"route-table"},
	"DeleteSecurityGroup": {"security-group"}, "DeleteSubnet": {"subnet"}, "DeleteVpc": {"vpc"}, "DeleteVpcEndpoints": {"vpc-endpoint"},
	"DetachInternetGateway": {"internet-gateway", "vpc"}, "DisassociateRouteTable": {"route-table", "subnet"}, "ReleaseAddress": {"elastic-ip"},
	"RevokeSecurityGroupIngress": {"security-group"}, "TerminateInstances": {"instance"},
	"AuthorizeSecurityGroupIngress": {"security-group"}, "DescribeInstanceAttribute": {"instance"},
	"CreateSecurityGroup": {"vpc"}, "ModifyInstanceAttribute": {"instance", "security-group"}, "ModifyInstanceMetadataOptions": {"instance"},
	"RunInstances": {"security-group", "subnet"}, "StartInstances": {"instance"}, "GetConsoleOutput": {"instance"},
	"DeleteVpcEndpointServiceConfigurations": {"vpc-endpoint-service"}, "RejectVpcEndpointConnections": {"vpc-endpoint-service"},
}

// scopesOf returns where a command needs an action.
func scopesOf(t *testing.T, command, action string, all []string) []scope {
	service, name, _ := strings.Cut(action, ":")
	roles, profiles := "arn:aws:iam::*:role/${INFRA_ID}-*", "arn:aws:iam::*:instance-profile/${INFRA_ID}-*"
	provider := scope{"ProviderOfTheCluster", "arn:aws:iam::*:oidc-provider/*/${INFRA_ID}", nil}
	if strings.HasSuffix(command, "operator-roles") {
		roles, provider = "arn:aws:iam::*:role/${NAME_PREFIX}-*", scope{"ProviderOfTheManagementCluster", "arn:aws:iam::*:oidc-provider/*", nil}
	}
	if strings.HasSuffix(command, "cli-role") {
		roles = "arn:aws:iam::*:role/hypershift-cli-${INFRA_ID}"
	}
	if strings.HasSuffix(command, "bastion") {
		roles, profiles = "arn:aws:iam::*:role/${INFRA_ID}-bastion", "arn:aws:iam::*:instance-profile/${INFRA_ID}-bastion"
	}
	if command == "doctor" {
		roles = "arn:aws:iam::*:role/*AWSServiceRoleForEC2Spot" // below aws-service-role/spot.amazonaws.com
	}
	switch {
	case service == "s3":
		return []scope{{"Bucket", "arn:aws:s3:::${OIDC_BUCKET}", nil}}
	case name == "CreateTags":
		return nil // tagStatements
	case service == "ram" && name == "CreateResourceShare":
		return []scope{{"NewResourceShares", "*", equals("aws:RequestTag/"+clusterTag, "owned")}}
	case service == "ram" && name == "AcceptResourceShareInvitation":
		return []scope{{"Invitations", "arn:aws:ram:*:*:resource-share-invitation/*", nil}}
	case service == "ram" && name == "TagResource":
		// AWS evaluates no tags of the share for this action. The command sends the tag of the cluster with those that it repairs.
		return []scope{{"TagsOfResourceShares", "arn:aws:ram:*:*:resource-share/*", equals("aws:RequestTag/"+clusterTag, "owned")}}
	case service == "ram" && !strings.HasPrefix(name, "Get"):
		return []scope{{"ResourceSharesOfTheCluster", "arn:aws:ram:*:*:resource-share/*", equals("aws:ResourceTag/"+clusterTag, "owned")}}
	case command == "create-infra-shared-vpc" && name == "CreateSecurityGroup":
		// Tags of a VPC do not travel with its subnets.
		return append(created("security-group"), scope{"SharedVPCs", "arn:aws:ec2:*:*:vpc/*", ofAnotherAccount})
	case service == "ec2" && name == "ReplaceRouteTableAssociation" && !strings.HasPrefix(command, "create-infra"):
		// The route table with which AWS has created the VPC becomes the main one again. It has no tags.
		return []scope{{"MainRouteTables", "arn:aws:ec2:*:*:route-table/*", nil}}
	case service == "ec2" && name == "ReplaceRouteTableAssociation":
		return existing("route-table")
	case service == "ec2" && (createdBy[name] != nil || changedBy[name] != nil):
		scopes := append(existing(changedBy[name]...), created(createdBy[name]...)...)
		if name == "RunInstances" {
			scopes = append(scopes, scope{"Images", "arn:aws:ec2:*::image/*", equals("ec2:Owner", "amazon")})
		}
		return scopes
	case name == "DescribeVpcAttribute":
		return []scope{{"AttributesOfVPCs", "arn:aws:ec2:*:*:vpc/*", nil}}
	case service == "ssm":
		return []scope{{"NamesOfImages", "arn:aws:ssm:*::parameter/aws/service/ami-amazon-linux-latest/*", nil}}
	case name == "PassRole":
		role := "worker-role"
		if strings.HasSuffix(command, "bastion") {
			role = "bastion"
		}
		return []scope{{"RoleOfTheInstances", "arn:aws:iam::*:role/${INFRA_ID}-" + role, equals("iam:PassedToService", []string{"ec2.amazonaws.com", "ec2.amazonaws.com.cn"})}}
	case service == "iam" && strings.Contains(name, "OpenIDConnectProvider") && !strings.HasPrefix(name, "List"):
		return []scope{provider}
	case service == "iam" && strings.Contains(name, "InstanceProfile"):
		return []scope{{"InstanceProfileOfTheCluster", profiles, nil}}
	case service == "iam" && strings.Contains(name, "Role"):
		return []scope{{"Roles", roles, nil}}
	case service == "route53" && name == "ChangeResourceRecordSets" && strings.HasPrefix(command, "create-infra"):
		return []scope{{"SOARecords", "arn:aws:route53:::hostedzone/*", map[string]map[string]any{
			"ForAllValues:StringEquals": {"route53:ChangeResourceRecordSetsRecordTypes": "SOA"},
		}}}
	case service == "route53" && name == "ChangeResourceRecordSets":
		return []scope{{"RecordsOfDeletedZones", "arn:aws:route53:::hostedzone/*", map[string]map[string]any{
			"ForAllValues:StringEquals": {"route53:ChangeResourceRecordSetsActions": "DELETE"},
		}}}
	case service == "route53" && name == "CreateHostedZone":
		return []scope{{"NewZones", "*", nil}}
	case service == "route53" && !strings.HasPrefix(name, "ListHostedZones") && name != "GetAccountLimit":
		return []scope{{"Zones", "arn:aws:route53:::hostedzone/*", nil}}
	case service == "elasticloadbalancing" && strings.HasPrefix(name, "Delete"):
		kind := map[string]string{"DeleteLoadBalancer": "loadbalancer", "DeleteTargetGroup": "targetgroup"}[name]
		return []scope{{"BalancersOfTheCluster", "arn:aws:elasticloadbalancing:*:*:" + kind + "/*", equals("aws:ResourceTag/"+clusterTag, "owned")}}
	case strings.HasPrefix(name, "Describe"), strings.HasPrefix(name, "List"), service == "servicequotas", service == "ram", strings.HasPrefix(name, "GetAccount"):
		return []scope{anywhere}
	}
	t.Errorf("the test does not know where %s needs %s", command, action)
	return nil
}

// policy returns the policy of a command that needs the actions.
func policy(t *testing.T, command string, actions []string) []byte {
	t.Helper()
	actions = slices.Compact(slices.Sorted(slices.Values(actions)))
	type group struct {
		scope
		actions []string
	}
	groups := map[string]*group{}
	for _, action := range actions {
		for _, s := range scopesOf(t, command, action, actions) {
			key := s.sid + " " + s.resource
			if groups[key] == nil {
				groups[key] = &group{scope: s}
			}
			groups[key].actions = append(groups[key].actions, action)
		}
	}
	var statements []policyStatement
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		g := groups[key]
		sid := g.sid
		if i := len(statements) - 1; i >= 0 && strings.TrimRight(statements[i].Sid, "2") == sid {
			sid = statements[i].Sid + "2" // of the same name, for another type of resource
		}
		statements = append(statements, policyStatement{Sid: sid, Effect: "Allow", Action: g.actions, Resource: g.resource, Condition: g.condition})
	}
	if slices.Contains(actions, "ec2:CreateTags") {
		statements = append(statements, tagStatements(command, actions)...)
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(policyDocument{Version: "2012-10-17", Statement: statements}); err != nil {
		t.Fatal(err)
	}
	// AWS accepts 6,144 characters in a managed policy, without white space, also for the longest infra ID.
	filled := strings.ReplaceAll(b.String(), "${INFRA_ID}", strings.Repeat("a", 32))
	if size := len(strings.Join(strings.Fields(filled), "")); size > 6144 {
		t.Errorf("the policy of %s has %d characters", command, size)
	}
	return b.Bytes()
}

// ofAnotherAccount is the condition for resources that another account shares.
var ofAnotherAccount = map[string]map[string]any{"StringNotEquals": {"aws:ResourceAccount": "${aws:PrincipalAccount}"}}

// tagStatements allow tags of the resources that the actions create, of resources of the cluster, and of subnets that another
// account shares.
func tagStatements(command string, actions []string) (statements []policyStatement) {
	var resources, by []string
	for _, name := range slices.Sorted(maps.Keys(createdBy)) {
		if slices.Contains(actions, "ec2:"+name) {
			by = append(by, name)
			for _, kind := range createdBy[name] {
				resources = append(resources, "arn:aws:ec2:*:*:"+kind+"/*")
			}
		}
	}
	slices.Sort(resources)
	statements = append(statements, policyStatement{
		Sid: "TagsOfWhatIsCreated", Effect: "Allow", Action: []string{"ec2:CreateTags"}, Resource: resources,
		Condition: map[string]map[string]any{"StringEquals": {"aws:RequestTag/" + clusterTag: "owned", "ec2:CreateAction": by}},
	})
	if command == "create-infra-shared-vpc" {
		const subnets = "arn:aws:ec2:*:*:subnet/*"
		resources = append(resources, subnets)
		statements = append(statements, policyStatement{
			Sid: "TagsOfSharedSubnets", Effect: "Allow", Action: []string{"ec2:CreateTags"}, Resource: subnets,
			Condition: map[string]map[string]any{
				"StringEquals": {"aws:RequestTag/" + clusterTag: "owned"}, "StringNotEquals": ofAnotherAccount["StringNotEquals"],
			},
		})
	}
	return append(statements, policyStatement{
		Sid: "TagsOfTheCluster", Effect: "Allow", Action: []string{"ec2:CreateTags"}, Resource: resources,
		Condition: equals("aws:ResourceTag/"+clusterTag, "owned"),
	})
}

func allowedBy(t *testing.T, text []byte) []string {
	t.Helper()
	var document policyDocument
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, s := range document.Statement {
		actions = append(actions, s.Action...)
	}
	slices.Sort(actions)
	return slices.Compact(actions)
}
