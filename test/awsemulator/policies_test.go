package awsemulator_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/hosted-control-planes/hypershift/config/iam"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// neighbours are two hosted clusters in one AWS account, and the resources that the roles of the first one have made for each of them.
type neighbours struct {
	*account
	mine, other *awsemulator.Customer
}

func newNeighbours(t *testing.T) *neighbours {
	t.Helper()
	n := &neighbours{account: newAccount(t)}
	for _, c := range []struct {
		cluster **awsemulator.Customer
		name    string
	}{{&n.mine, "mine"}, {&n.other, "other"}} {
		seeded, err := emulator.SeedCustomer(t.Context(), awsemulator.CustomerOptions{
			Account: n.id, Name: c.name, InfraID: c.name + "-abcde", Issuer: "https://oidc.s3.us-east-1.amazonaws.com/" + c.name + "-" + n.id,
		})
		must(t, err)
		*c.cluster = seeded
	}
	return n
}

// as gives the session of a role that has one of our policies, filled in for the first cluster.
func (n *neighbours) as(t *testing.T, file string) *account {
	t.Helper()
	name := strings.TrimSuffix(file, ".json")
	policy, err := iam.Fill(file, map[string]string{
		"INFRA_ID": n.mine.InfraID, "VPC": n.mine.VPC, "LOCAL_ZONE_ID": n.mine.LocalZoneID, "OIDC_BUCKET": "oidc-" + n.id,
	})
	must(t, err)
	return n.session(t, name, policy)
}

// session makes a role with that policy and gives a session of it.
func (n *neighbours) session(t *testing.T, name, policy string) *account {
	t.Helper()
	role, err := emulator.Role(t.Context(), n.id, name, awsemulator.TrustRole("arn:aws:iam::"+n.id+":root"))
	must(t, err)
	must(t, emulator.Permit(t.Context(), n.id, name, policy))
	return accountWith(t, n.id, assume(t, n.account, role))
}

func clusterTags(c *awsemulator.Customer) []ec2types.Tag {
	return []ec2types.Tag{{Key: aws.String(names.ClusterTag(c.InfraID)), Value: aws.String("owned")}, {Key: aws.String("Name"), Value: aws.String("x")}}
}

func tagged(tags []ec2types.Tag, kinds ...ec2types.ResourceType) []ec2types.TagSpecification {
	var out []ec2types.TagSpecification
	for _, kind := range kinds {
		out = append(out, ec2types.TagSpecification{ResourceType: kind, Tags: tags})
	}
	return out
}

// attempts runs calls in the order of the list; those with a code must be refused with it.
type attempt struct {
	does string
	call func() error
	want string
}

func attempts(t *testing.T, list []attempt) {
	t.Helper()
	for _, a := range list {
		t.Run(a.does, func(t *testing.T) { refused(t, a.call(), a.want) })
	}
}

func group(t *testing.T, a *account, vpc string, tags []ec2types.Tag, id *string) func() error {
	return func() error {
		in := &ec2.CreateSecurityGroupInput{GroupName: aws.String("g" + t.Name() + vpc), Description: aws.String("x"), VpcId: &vpc}
		if tags != nil {
			in.TagSpecifications = tagged(tags, ec2types.ResourceTypeSecurityGroup)
		}
		made, err := a.ec2.CreateSecurityGroup(t.Context(), in)
		if err == nil && id != nil {
			*id = *made.GroupId
		}
		return err
	}
}

// The node pools' role of one cluster makes and ends the instances of that cluster, and touches no other.
func TestPolicyOfNodePoolManagement(t *testing.T) {
	n := newNeighbours(t)
	nodes := n.as(t, iam.NodePoolManagement)
	var mineGroup, otherGroup string
	must(t, group(t, n.account, n.mine.VPC, nil, &mineGroup)())
	must(t, group(t, n.account, n.other.VPC, nil, &otherGroup)())

	var instance string
	run := func(a *account, subnet, group, profile string, tags []ec2types.Tag) func() error {
		return func() error {
			request := &ec2.RunInstancesInput{
				ImageId: aws.String(awsemulator.ImageAMD64), InstanceType: "m5.large", MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
				NetworkInterfaces:  []ec2types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), SubnetId: &subnet, Groups: []string{group}}},
				IamInstanceProfile: &ec2types.IamInstanceProfileSpecification{Name: &profile},
			}
			if tags != nil {
				request.TagSpecifications = tagged(tags, ec2types.ResourceTypeInstance, ec2types.ResourceTypeVolume, ec2types.ResourceTypeNetworkInterface)
			}
			made, err := a.ec2.RunInstances(t.Context(), request)
			if err == nil {
				instance = *made.Instances[0].InstanceId
			}
			return err
		}
	}
	subnet, foreignSubnet := n.mine.Subnets[0].ID, n.other.Subnets[0].ID
	must(t, run(n.account, foreignSubnet, otherGroup, n.other.InstanceProfile, clusterTags(n.other))())
	foreign := instance
	terminate := func(id *string) func() error {
		return func() error {
			_, err := nodes.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{*id}})
			return err
		}
	}
	tag := func(id *string, tags ...ec2types.Tag) func() error {
		return func() error {
			_, err := nodes.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{*id}, Tags: tags})
			return err
		}
	}
	metadata := func(id *string) func() error {
		return func() error {
			_, err := nodes.ec2.ModifyInstanceMetadataOptions(t.Context(), &ec2.ModifyInstanceMetadataOptionsInput{InstanceId: id, HttpTokens: "required"})
			return err
		}
	}
	console := func(id *string) func() error {
		return func() error {
			_, err := nodes.ec2.GetConsoleOutput(t.Context(), &ec2.GetConsoleOutputInput{InstanceId: id, Latest: aws.Bool(true)})
			return err
		}
	}
	status := func() error {
		_, err := nodes.ec2.DescribeInstanceStatus(t.Context(), &ec2.DescribeInstanceStatusInput{IncludeAllInstances: aws.Bool(true)})
		return err
	}
	label := ec2types.Tag{Key: aws.String("team"), Value: aws.String("x")}
	attempts(t, []attempt{
		{"runs an instance of the cluster", run(nodes, subnet, mineGroup, n.mine.InstanceProfile, clusterTags(n.mine)), ""},
		{"runs an instance without tags", run(nodes, subnet, mineGroup, n.mine.InstanceProfile, nil), "UnauthorizedOperation"},
		{"runs an instance with the tag of another cluster", run(nodes, subnet, mineGroup, n.mine.InstanceProfile, clusterTags(n.other)), "UnauthorizedOperation"},
		{"runs an instance in a subnet of another cluster", run(nodes, foreignSubnet, mineGroup, n.mine.InstanceProfile, clusterTags(n.mine)), "UnauthorizedOperation"},
		{"runs an instance with a security group of another VPC", run(nodes, subnet, otherGroup, n.mine.InstanceProfile, clusterTags(n.mine)), "UnauthorizedOperation"},
		{"passes the role of another cluster", run(nodes, subnet, mineGroup, n.other.InstanceProfile, clusterTags(n.mine)), "UnauthorizedOperation"},
		{"tags an instance of the cluster", tag(&instance, label), ""},
		{"tags an instance of another cluster", tag(&foreign, label), "UnauthorizedOperation"},
		{"makes an instance of another cluster its own", tag(&foreign, clusterTags(n.mine)...), "UnauthorizedOperation"},
		{"changes the metadata options of the cluster", metadata(&instance), ""},
		{"changes the metadata options of another cluster", metadata(&foreign), "UnauthorizedOperation"},
		{"reads the console of the cluster", console(&instance), ""},
		{"reads the console of another cluster", console(&foreign), "UnauthorizedOperation"},
		{"reads the status checks", status, ""},
		{"terminates an instance of another cluster", terminate(&foreign), "UnauthorizedOperation"},
		{"terminates an instance of the cluster", terminate(&instance), ""},
		{"terminates an instance that does not exist", terminate(aws.String("i-0123456789abcdef0")), "UnauthorizedOperation"},
		{"describes instances", func() error {
			_, err := nodes.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
			return err
		}, ""},
		{"makes a security group", group(t, nodes, n.mine.VPC, clusterTags(n.mine), nil), "UnauthorizedOperation"},
	})
}

// The control-plane-operator's role has endpoints, security groups and records of its own cluster.
func TestPolicyOfTheControlPlaneOperator(t *testing.T) {
	n := newNeighbours(t)
	cpo := n.as(t, iam.ControlPlaneOperator)
	endpointsOfOneCluster(t, n, cpo)
	recordsOfOneCluster(t, n, cpo)
}

// In a shared VPC one role manages the endpoints and security groups, and another one the records.
func TestPoliciesOfASharedVPC(t *testing.T) {
	n := newNeighbours(t)
	endpoints, records := n.as(t, iam.SharedVPCControlPlane), n.as(t, iam.SharedVPCIngress)
	endpointsOfOneCluster(t, n, endpoints)
	recordsOfOneCluster(t, n, records)
	list := func(a *account) func() error {
		return func() error {
			_, err := a.dns.ListResourceRecordSets(t.Context(), &route53.ListResourceRecordSetsInput{HostedZoneId: &n.mine.LocalZoneID})
			return err
		}
	}
	attempts(t, []attempt{
		{"reads records as the role for endpoints", list(endpoints), "AccessDenied"},
		{"makes a security group as the role for records", group(t, records, n.mine.VPC, clusterTags(n.mine), nil), "UnauthorizedOperation"},
	})
}

// The control-plane-operator's role becomes the roles of its shared VPC, and no other.
func TestPolicyOfTheRolesOfASharedVPC(t *testing.T) {
	n := newNeighbours(t)
	trust := awsemulator.TrustRole("arn:aws:iam::" + n.id + ":root")
	roles := map[string]string{}
	for _, name := range []string{"endpoints", "records", "other"} {
		arn, err := emulator.Role(t.Context(), n.id, name, trust)
		must(t, err)
		roles[name] = arn
	}
	policy, err := iam.Fill(iam.SharedVPCRoles, map[string]string{"SHARED_VPC_CONTROL_PLANE_ROLE": roles["endpoints"], "SHARED_VPC_INGRESS_ROLE": roles["records"]})
	must(t, err)
	cpo := n.session(t, "control-plane-operator", policy)
	become := func(role string) func() error {
		return func() error {
			_, err := cpo.sts.AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: aws.String(roles[role]), RoleSessionName: aws.String("test")})
			return err
		}
	}
	attempts(t, []attempt{
		{"becomes the role for endpoints", become("endpoints"), ""},
		{"becomes the role for records", become("records"), ""},
		{"becomes another role that would have it", become("other"), "AccessDenied"},
	})
}

// The role of the KMS plugin uses the key of its cluster, and no other.
func TestPolicyOfTheKMSProvider(t *testing.T) {
	n := newNeighbours(t)
	config := emulator.Config(n.id)
	config.RetryMaxAttempts = 1
	keys := map[string]*string{}
	for _, name := range []string{"mine", "other"} {
		made, err := kms.NewFromConfig(config).CreateKey(t.Context(), &kms.CreateKeyInput{})
		must(t, err)
		keys[name] = made.KeyMetadata.Arn
	}
	policy, err := iam.Fill(iam.KMSProvider, map[string]string{"KMS_KEY": *keys["mine"]})
	must(t, err)
	role, err := emulator.Role(t.Context(), n.id, "kms-provider", awsemulator.TrustRole("arn:aws:iam::"+n.id+":root"))
	must(t, err)
	must(t, emulator.Permit(t.Context(), n.id, "kms-provider", policy))
	session := assume(t, n.account, role)
	session.RetryMaxAttempts = 1
	provider := kms.NewFromConfig(session)
	sealed := map[string][]byte{}
	for name, key := range keys {
		out, err := kms.NewFromConfig(config).Encrypt(t.Context(), &kms.EncryptInput{KeyId: key, Plaintext: []byte("x")})
		must(t, err)
		sealed[name] = out.CiphertextBlob
	}
	encrypt := func(name string) func() error {
		return func() error {
			_, err := provider.Encrypt(t.Context(), &kms.EncryptInput{KeyId: keys[name], Plaintext: []byte("x")})
			return err
		}
	}
	decrypt := func(name string) func() error {
		return func() error {
			_, err := provider.Decrypt(t.Context(), &kms.DecryptInput{KeyId: keys[name], CiphertextBlob: sealed[name]})
			return err
		}
	}
	describe := func(name string) func() error {
		return func() error {
			_, err := provider.DescribeKey(t.Context(), &kms.DescribeKeyInput{KeyId: keys[name]})
			return err
		}
	}
	attempts(t, []attempt{
		{"encrypts with its key", encrypt("mine"), ""},
		{"decrypts with its key", decrypt("mine"), ""},
		{"describes its key", describe("mine"), ""},
		{"encrypts with another key", encrypt("other"), "AccessDeniedException"},
		{"decrypts with another key", decrypt("other"), "AccessDeniedException"},
		{"describes another key", describe("other"), "AccessDeniedException"},
		{"disables its key", func() error {
			_, err := provider.DisableKey(t.Context(), &kms.DisableKeyInput{KeyId: keys["mine"]})
			return err
		}, "AccessDeniedException"},
	})
}

// endpointsOfOneCluster attempts the calls of the role for endpoints and security groups, on its own cluster and on another.
func endpointsOfOneCluster(t *testing.T, n *neighbours, cpo *account) {
	t.Helper()
	provider := newAccount(t)
	service := *provider.service(t, false, *provider.nlb(t, "api", provider.subnet(t, "10.0.0.0/24", 0), provider.subnet(t, "10.0.1.0/24", 1)).LoadBalancerArn).ServiceName
	provider.allow(t, service[strings.LastIndex(service, ".")+1:], "*")

	var mineGroup, otherGroup, endpoint string
	must(t, group(t, n.account, n.other.VPC, clusterTags(n.other), &otherGroup)())
	create := func(a *account, c *awsemulator.Customer, tags []ec2types.Tag, group *string) func() error {
		return func() error {
			in := interfaceEndpoint(c.VPC, service, c.Subnets[0].ID)
			in.SecurityGroupIds = []string{*group}
			if tags != nil {
				in.TagSpecifications = tagged(tags, ec2types.ResourceTypeVpcEndpoint)
			}
			made, err := a.ec2.CreateVpcEndpoint(t.Context(), in)
			if err == nil {
				endpoint = *made.VpcEndpoint.VpcEndpointId
			}
			return err
		}
	}
	must(t, create(n.account, n.other, clusterTags(n.other), &otherGroup)())
	foreign := endpoint
	modify := func(id *string, in ec2.ModifyVpcEndpointInput) func() error {
		return func() error {
			in.VpcEndpointId = id
			_, err := cpo.ec2.ModifyVpcEndpoint(t.Context(), &in)
			return err
		}
	}
	remove := func(id *string) func() error {
		return func() error {
			_, err := cpo.ec2.DeleteVpcEndpoints(t.Context(), &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{*id}})
			return err
		}
	}
	authorize := func(id *string) func() error {
		return func() error {
			_, err := cpo.ec2.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: id, IpPermissions: []ec2types.IpPermission{
				{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(443), ToPort: aws.Int32(443), IpRanges: []ec2types.IpRange{{CidrIp: aws.String("10.0.0.0/8")}}},
			}})
			return err
		}
	}
	deleteGroup := func(id *string) func() error {
		return func() error {
			_, err := cpo.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: id})
			return err
		}
	}
	tag := func(id *string) func() error {
		return func() error {
			_, err := cpo.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{*id}, Tags: clusterTags(n.mine)})
			return err
		}
	}
	untag := func(id *string) func() error {
		return func() error {
			_, err := cpo.ec2.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{*id}, Tags: []ec2types.Tag{{Key: aws.String("Name")}}})
			return err
		}
	}
	attempts(t, []attempt{
		{"makes a security group", group(t, cpo, n.mine.VPC, clusterTags(n.mine), &mineGroup), ""},
		{"makes a security group without the tag", group(t, cpo, n.mine.VPC, nil, nil), "UnauthorizedOperation"},
		{"makes a security group in another cluster's VPC", group(t, cpo, n.other.VPC, clusterTags(n.mine), nil), "UnauthorizedOperation"},
		{"opens its security group", authorize(&mineGroup), ""},
		{"opens a security group of another cluster", authorize(&otherGroup), "UnauthorizedOperation"},
		{"makes a security group of another cluster its own", tag(&otherGroup), "UnauthorizedOperation"},
		{"deletes a security group of another cluster", deleteGroup(&otherGroup), "UnauthorizedOperation"},
		{"makes an endpoint", create(cpo, n.mine, clusterTags(n.mine), &mineGroup), ""},
		{"makes an endpoint without the tag", create(cpo, n.mine, nil, &mineGroup), "UnauthorizedOperation"},
		{"makes an endpoint in another cluster's VPC", create(cpo, n.other, clusterTags(n.mine), &otherGroup), "UnauthorizedOperation"},
		{"adds a subnet to its endpoint", modify(&endpoint, ec2.ModifyVpcEndpointInput{AddSubnetIds: []string{n.mine.Subnets[1].ID}}), ""},
		{"adds a subnet to an endpoint of another cluster", modify(&foreign, ec2.ModifyVpcEndpointInput{AddSubnetIds: []string{n.other.Subnets[1].ID}}), "UnauthorizedOperation"},
		{"adds a security group of another cluster", modify(&endpoint, ec2.ModifyVpcEndpointInput{AddSecurityGroupIds: []string{otherGroup}}), "UnauthorizedOperation"},
		{"tags its endpoint", tag(&endpoint), ""},
		{"takes a tag from its endpoint", untag(&endpoint), ""},
		{"takes a tag from an endpoint of another cluster", untag(&foreign), "UnauthorizedOperation"},
		{"deletes an endpoint of another cluster", remove(&foreign), "UnauthorizedOperation"},
		{"deletes its endpoint", remove(&endpoint), ""},
		{"deletes its security group", deleteGroup(&mineGroup), ""},
	})
}

// recordsOfOneCluster attempts the calls of the role for records, in the zone of its own cluster and in another cluster's zone.
func recordsOfOneCluster(t *testing.T, n *neighbours, cpo *account) {
	t.Helper()
	record := func(zone string) func() error {
		return func() error {
			return cpo.change(t, &zone, change(route53types.ChangeActionUpsert, route53types.RRTypeTxt, "x.mine.hypershift.local.", `"x"`))
		}
	}
	records := func(zone string) func() error {
		return func() error {
			_, err := cpo.dns.ListResourceRecordSets(t.Context(), &route53.ListResourceRecordSetsInput{HostedZoneId: &zone})
			return err
		}
	}
	attempts(t, []attempt{
		{"writes a record in its zone", record(n.mine.LocalZoneID), ""},
		{"reads the records of its zone", records(n.mine.LocalZoneID), ""},
		{"writes a record in the zone of another cluster", record(n.other.LocalZoneID), "AccessDenied"},
		{"reads the records of another cluster", records(n.other.LocalZoneID), "AccessDenied"},
	})
}

// The cloud-controller-manager's role manages the load balancers of its own cluster.
func TestPolicyOfTheCloudController(t *testing.T) {
	n := newNeighbours(t)
	session := n.as(t, iam.CloudController)
	balancerTags := func(c *awsemulator.Customer) []elbv2types.Tag {
		return []elbv2types.Tag{{Key: aws.String(names.ClusterTag(c.InfraID)), Value: aws.String("owned")}}
	}
	balancer := func(a *account, c *awsemulator.Customer, name string, tags []elbv2types.Tag, arn *string) func() error {
		return func() error {
			made, err := a.elb.CreateLoadBalancer(t.Context(), &elbv2.CreateLoadBalancerInput{Name: &name, Type: "network", Subnets: []string{c.Subnets[0].ID}, Tags: tags})
			if err == nil {
				*arn = *made.LoadBalancers[0].LoadBalancerArn
			}
			return err
		}
	}
	targets := func(a *account, c *awsemulator.Customer, name string, tags []elbv2types.Tag, arn *string) func() error {
		return func() error {
			made, err := a.elb.CreateTargetGroup(t.Context(), &elbv2.CreateTargetGroupInput{Name: &name, Protocol: "TCP", Port: aws.Int32(80), VpcId: &c.VPC, Tags: tags})
			if err == nil {
				*arn = *made.TargetGroups[0].TargetGroupArn
			}
			return err
		}
	}
	var mine, foreign, group, foreignGroup, listener, ignored string
	must(t, balancer(n.account, n.other, "foreign", balancerTags(n.other), &foreign)())
	must(t, targets(n.account, n.other, "foreign", balancerTags(n.other), &foreignGroup)())
	listen := func(balancer, group *string) func() error {
		return func() error {
			made, err := session.elb.CreateListener(t.Context(), &elbv2.CreateListenerInput{
				LoadBalancerArn: balancer, Port: aws.Int32(80), Protocol: "TCP", Tags: balancerTags(n.mine),
				DefaultActions: []elbv2types.Action{{Type: "forward", TargetGroupArn: group}},
			})
			if err == nil {
				listener = *made.Listeners[0].ListenerArn
			}
			return err
		}
	}
	modify := func(group *string) func() error {
		return func() error {
			_, err := session.elb.ModifyTargetGroup(t.Context(), &elbv2.ModifyTargetGroupInput{TargetGroupArn: group, HealthCheckPort: aws.String("80")})
			return err
		}
	}
	remove := func(arn *string) func() error {
		return func() error {
			_, err := session.elb.DeleteLoadBalancer(t.Context(), &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: arn})
			return err
		}
	}
	classic := func(a *account, action, name string, parameters ...string) func() error {
		return func() error {
			return queryBalancing(t, a, append([]string{"Action", action, "LoadBalancerName", name}, parameters...)...)
		}
	}
	makes := []string{"Subnets.member.1", n.mine.Subnets[0].ID, "Listeners.member.1.Protocol", "TCP", "Listeners.member.1.LoadBalancerPort", "80", "Listeners.member.1.InstancePort", "30000"}
	with := func(c *awsemulator.Customer) []string {
		return append([]string{"Tags.member.1.Key", names.ClusterTag(c.InfraID), "Tags.member.1.Value", "owned"}, makes...)
	}
	must(t, classic(n.account, "CreateLoadBalancer", "foreign-classic", with(n.other)...)())
	attempts(t, []attempt{
		{"makes a load balancer", balancer(session, n.mine, "mine", balancerTags(n.mine), &mine), ""},
		{"makes a load balancer without the tag", balancer(session, n.mine, "untagged", nil, &ignored), "AccessDenied"},
		{"makes a load balancer with another cluster's tag", balancer(session, n.mine, "stranger", balancerTags(n.other), &ignored), "AccessDenied"},
		{"makes a target group", targets(session, n.mine, "mine", balancerTags(n.mine), &group), ""},
		{"makes a listener", listen(&mine, &group), ""},
		{"makes a listener on another cluster's load balancer", listen(&foreign, &group), "AccessDenied"},
		{"changes its target group", modify(&group), ""},
		{"changes another cluster's target group", modify(&foreignGroup), "AccessDenied"},
		{"makes another cluster's load balancer its own", func() error {
			_, err := session.elb.AddTags(t.Context(), &elbv2.AddTagsInput{ResourceArns: []string{foreign}, Tags: balancerTags(n.mine)})
			return err
		}, "AccessDenied"},
		{"deletes its listener", func() error {
			_, err := session.elb.DeleteListener(t.Context(), &elbv2.DeleteListenerInput{ListenerArn: &listener})
			return err
		}, ""},
		{"deletes another cluster's load balancer", remove(&foreign), "AccessDenied"},
		{"deletes its load balancer", remove(&mine), ""},
		{"makes a classic load balancer", classic(session, "CreateLoadBalancer", "classic", with(n.mine)...), ""},
		{"makes a classic load balancer without the tag", classic(session, "CreateLoadBalancer", "classic-untagged", makes...), "AccessDenied"},
		{"deletes its classic load balancer", classic(session, "DeleteLoadBalancer", "classic"), ""},
		{"deletes another cluster's classic load balancer", classic(session, "DeleteLoadBalancer", "foreign-classic"), "AccessDenied"},
	})
}

// queryBalancing calls the classic load balancers, for which the project needs no client of the SDK.
func queryBalancing(t *testing.T, a *account, parameters ...string) error {
	t.Helper()
	key, err := a.elb.Options().Credentials.Retrieve(t.Context())
	must(t, err)
	form := url.Values{"Version": {"2012-06-01"}}
	for i := 0; i < len(parameters); i += 2 {
		form.Set(parameters[i], parameters[i+1])
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, emulator.URL, strings.NewReader(form.Encode()))
	must(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+key.AccessKeyID+"/20260101/us-east-1/elasticloadbalancing/aws4_request, SignedHeaders=host, Signature=0")
	answer, err := http.DefaultClient.Do(request)
	must(t, err)
	defer func() { must(t, answer.Body.Close()) }()
	text, err := io.ReadAll(answer.Body)
	must(t, err)
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	_, code, _ := strings.Cut(string(text), "<Code>")
	code, _, _ = strings.Cut(code, "</Code>")
	return &smithy.GenericAPIError{Code: code, Message: string(text)}
}

// The hypershift-operator's role has endpoint services of hosted clusters and the documents in its bucket.
func TestPolicyOfTheHypershiftOperator(t *testing.T) {
	n := newNeighbours(t)
	ho := n.as(t, iam.HypershiftOperator)
	subnet := n.subnet(t, "10.0.0.0/24", 0)
	owner := []ec2types.Tag{{Key: aws.String(awsx.OwnerTag), Value: aws.String("uid")}}
	var mine string
	foreign := *n.service(t, false, *n.nlb(t, "foreign", subnet).LoadBalancerArn).ServiceId
	create := func(name string, tags []ec2types.Tag) func() error {
		arn := *n.nlb(t, name, subnet).LoadBalancerArn
		return func() error {
			in := &ec2.CreateVpcEndpointServiceConfigurationInput{NetworkLoadBalancerArns: []string{arn}}
			if tags != nil {
				in.TagSpecifications = tagged(tags, ec2types.ResourceTypeVpcEndpointService)
			}
			made, err := ho.ec2.CreateVpcEndpointServiceConfiguration(t.Context(), in)
			if err == nil {
				mine = *made.ServiceConfiguration.ServiceId
			}
			return err
		}
	}
	allow := func(id *string) func() error {
		return func() error {
			_, err := ho.ec2.ModifyVpcEndpointServicePermissions(t.Context(), &ec2.ModifyVpcEndpointServicePermissionsInput{ServiceId: id, AddAllowedPrincipals: []string{"*"}})
			return err
		}
	}
	remove := func(id *string) func() error {
		return func() error {
			_, err := ho.ec2.DeleteVpcEndpointServiceConfigurations(t.Context(), &ec2.DeleteVpcEndpointServiceConfigurationsInput{ServiceIds: []string{*id}})
			return err
		}
	}
	bucket, stranger := "oidc-"+n.id, "other-"+n.id
	for _, name := range []string{bucket, stranger} {
		_, err := n.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name})
		must(t, err)
	}
	put := func(bucket string) func() error {
		return func() error {
			_, err := ho.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("mine-abcde/openid/v1/jwks"), Body: strings.NewReader("{}")})
			return err
		}
	}
	empty := func(bucket string) func() error {
		return func() error {
			_, err := ho.s3.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: &bucket, Delete: &s3types.Delete{Objects: []s3types.ObjectIdentifier{{Key: aws.String("mine-abcde/openid/v1/jwks")}}}})
			return err
		}
	}
	attempts(t, []attempt{
		{"makes an endpoint service", create("mine", owner), ""},
		{"makes an endpoint service without an owner", create("unowned", nil), "UnauthorizedOperation"},
		{"opens its endpoint service", allow(&mine), ""},
		{"opens an endpoint service that it has not made", allow(&foreign), "UnauthorizedOperation"},
		{"makes an endpoint service its own", func() error {
			_, err := ho.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{foreign}, Tags: owner})
			return err
		}, "UnauthorizedOperation"},
		{"deletes an endpoint service that it has not made", remove(&foreign), "UnauthorizedOperation"},
		{"deletes its endpoint service", remove(&mine), ""},
		{"publishes a document", put(bucket), ""},
		{"writes to another bucket", put(stranger), "AccessDenied"},
		{"deletes documents", empty(bucket), ""},
		{"deletes objects of another bucket", empty(stranger), "AccessDenied"},
	})
}

// The emulator evaluates policies as AWS does.
func TestPoliciesAreEvaluated(t *testing.T) {
	n := newNeighbours(t)
	const allowAll = `{"Effect":"Allow","Action":"*","Resource":"*"}`
	allow := func(rest string) string { return `{"Effect":"Allow","Action":"ec2:CreateSecurityGroup",` + rest + `}` }
	on := func(condition string) string {
		return allow(`"Resource":"arn:aws:ec2:*:*:vpc/*"`) + "," + allow(`"Resource":"arn:aws:ec2:*:*:security-group/*","Condition":`+condition) +
			`,{"Effect":"Allow","Action":"ec2:CreateTags","Resource":"*"}`
	}
	key := names.ClusterTag(n.mine.InfraID)
	for name, c := range map[string]struct {
		statements string
		want       string
	}{
		"everything is allowed":                            {allowAll, ""},
		"a Deny wins over an Allow":                        {allowAll + `,{"Effect":"Deny","Action":"ec2:CreateSecurityGroup","Resource":"*"}`, "UnauthorizedOperation"},
		"a Deny of one of the resources is enough":         {allowAll + `,{"Effect":"Deny","Action":"ec2:*","Resource":"arn:aws:ec2:*:*:vpc/` + n.mine.VPC + `"}`, "UnauthorizedOperation"},
		"a Deny whose condition does not hold":             {allowAll + `,{"Effect":"Deny","Action":"ec2:*","Resource":"*","Condition":{"StringEquals":{"aws:RequestTag/x":"y"}}}`, ""},
		"NotAction covers the others":                      {`{"Effect":"Allow","NotAction":"iam:*","Resource":"*"}`, ""},
		"NotAction does not cover what it names":           {`{"Effect":"Allow","NotAction":"ec2:Create*","Resource":"*"}`, "UnauthorizedOperation"},
		"NotResource does not cover what it names":         {`{"Effect":"Allow","Action":"ec2:*","NotResource":"arn:aws:ec2:*:*:vpc/*"}`, "UnauthorizedOperation"},
		"NotResource covers the others":                    {`{"Effect":"Allow","Action":"ec2:*","NotResource":"arn:aws:ec2:*:*:subnet/*"}`, ""},
		"each resource must be allowed":                    {allow(`"Resource":"arn:aws:ec2:*:*:security-group/*"`) + `,{"Effect":"Allow","Action":"ec2:CreateTags","Resource":"*"}`, "UnauthorizedOperation"},
		"tags need a permission of their own":              {allow(`"Resource":"*"`), "UnauthorizedOperation"},
		"a wildcard ends at a colon":                       {allow(`"Resource":"arn:aws:*:vpc/*"`), "UnauthorizedOperation"},
		"a tag of the request":                             {on(`{"StringEquals":{"aws:RequestTag/` + key + `":"owned"}}`), ""},
		"another value of the tag":                         {on(`{"StringEquals":{"aws:RequestTag/` + key + `":"shared"}}`), "UnauthorizedOperation"},
		"one of several values":                            {on(`{"StringEquals":{"aws:RequestTag/` + key + `":["shared","owned"]}}`), ""},
		"a tag that the request lacks":                     {on(`{"StringEquals":{"aws:RequestTag/team":"x"}}`), "UnauthorizedOperation"},
		"IfExists holds without the key":                   {on(`{"StringEqualsIfExists":{"aws:RequestTag/team":"x"}}`), ""},
		"what is made has no tags of its own":              {on(`{"StringEquals":{"aws:ResourceTag/` + key + `":"owned"}}`), "UnauthorizedOperation"},
		"Null true holds without the key":                  {on(`{"Null":{"aws:ResourceTag/` + key + `":"true"}}`), ""},
		"Null false needs the key":                         {on(`{"Null":{"aws:RequestTag/team":"false"}}`), "UnauthorizedOperation"},
		"StringLike takes wildcards":                       {on(`{"StringLike":{"aws:RequestTag/` + key + `":"own??"}}`), ""},
		"StringEquals takes none":                          {on(`{"StringEquals":{"aws:RequestTag/` + key + `":"own*"}}`), "UnauthorizedOperation"},
		"StringNotEquals":                                  {on(`{"StringNotEquals":{"aws:RequestTag/` + key + `":["x","owned"]}}`), "UnauthorizedOperation"},
		"StringNotEquals without the key":                  {on(`{"StringNotEquals":{"aws:RequestTag/team":"x"}}`), ""},
		"ForAllValues: all keys of tags are wanted":        {on(`{"ForAllValues:StringEquals":{"aws:TagKeys":["` + key + `","Name"]}}`), ""},
		"ForAllValues: one key of tags is not":             {on(`{"ForAllValues:StringEquals":{"aws:TagKeys":["` + key + `"]}}`), "UnauthorizedOperation"},
		"ForAnyValue: one key of tags is enough":           {on(`{"ForAnyValue:StringEquals":{"aws:TagKeys":["Name"]}}`), ""},
		"ForAnyValue without the key":                      {on(`{"ForAnyValue:StringEquals":{"aws:PrincipalTag/x":["Name"]}}`), "UnauthorizedOperation"},
		"all conditions must hold":                         {on(`{"StringEquals":{"aws:RequestTag/` + key + `":"owned"},"Null":{"aws:RequestTag/Name":"true"}}`), "UnauthorizedOperation"},
		"the VPC by ARN":                                   {allow(`"Resource":"*","Condition":{"ArnLike":{"ec2:Vpc":"arn:aws:ec2:*:*:vpc/*"}}`), "UnauthorizedOperation"},
		"the VPC by its id":                                {allow(`"Resource":"arn:aws:ec2:*:*:vpc/*","Condition":{"StringEquals":{"ec2:VpcID":"`+n.mine.VPC+`"}}`) + "," + on(`{}`), ""},
		"a policy variable":                                {on(`{"StringEquals":{"aws:PrincipalAccount":"`+n.id+`"}}`) + `,{"Effect":"Deny","Action":"*","Resource":"*","Condition":{"StringNotLike":{"aws:PrincipalArn":"arn:aws:iam::${aws:PrincipalAccount}:role/*"}}}`, ""},
		"a policy variable without a value covers nothing": {`{"Effect":"Allow","Action":"ec2:*","Resource":["arn:aws:ec2:*:*:*/${aws:PrincipalTag/x}*"]}`, "UnauthorizedOperation"},
		"the call that creates":                            {allow(`"Resource":"*"`) + `,{"Effect":"Allow","Action":"ec2:CreateTags","Resource":"*","Condition":{"StringEquals":{"ec2:CreateAction":"CreateSecurityGroup"}}}`, ""},
		"another call that creates":                        {allow(`"Resource":"*"`) + `,{"Effect":"Allow","Action":"ec2:CreateTags","Resource":"*","Condition":{"StringEquals":{"ec2:CreateAction":"RunInstances"}}}`, "UnauthorizedOperation"},
	} {
		t.Run(name, func(t *testing.T) {
			role := strings.Map(func(r rune) rune {
				if r >= 'a' && r <= 'z' {
					return r
				}
				return '-'
			}, strings.ToLower(name))
			session := n.session(t, role, `{"Version":"2012-10-17","Statement":[`+c.statements+`]}`)
			refused(t, group(t, session, n.mine.VPC, clusterTags(n.mine), nil)(), c.want)
		})
	}
}

func TestRecordsAreJudgedByNameTypeAndAction(t *testing.T) {
	n := newNeighbours(t)
	session := n.session(t, "records", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"route53:ChangeResourceRecordSets","Resource":"arn:aws:route53:::hostedzone/*",
		"Condition":{"ForAllValues:StringLike":{"route53:ChangeResourceRecordSetsNormalizedRecordNames":"*.mine.hypershift.local",
		"route53:ChangeResourceRecordSetsActions":["UPSERT","DELETE"],"route53:ChangeResourceRecordSetsRecordTypes":"TXT"}}}]}`)
	record := func(action route53types.ChangeAction, kind route53types.RRType, name, value string) func() error {
		return func() error { return session.change(t, &n.mine.LocalZoneID, change(action, kind, name, value)) }
	}
	attempts(t, []attempt{
		{"writes a name that is allowed", record("UPSERT", "TXT", "A.Mine.hypershift.local.", `"x"`), ""},
		{"writes another name", record("UPSERT", "TXT", "mine.hypershift.local.", `"x"`), "AccessDenied"},
		{"writes another type", record("UPSERT", "CNAME", "b.mine.hypershift.local.", "x.example.com"), "AccessDenied"},
		{"creates", record("CREATE", "TXT", "c.mine.hypershift.local.", `"x"`), "AccessDenied"},
	})
}

func TestAPolicyWithWhatIsNotEvaluatedIsRefused(t *testing.T) {
	n := newNeighbours(t)
	_, err := emulator.Role(t.Context(), n.id, "strange", awsemulator.TrustRole("arn:aws:iam::"+n.id+":root"))
	must(t, err)
	refused(t, emulator.Permit(t.Context(), n.id, "strange", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"ec2:*","Resource":"*","Condition":{"IpAddress":{"aws:SourceIp":"10.0.0.0/8"}}}]}`), "MalformedPolicyDocument")
}
