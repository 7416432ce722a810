package cli_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// proxyIngress returns the ingress rules of the proxy's group.
func (u *user) proxyIngress() []string {
	u.t.Helper()
	found, err := ec2.NewFromConfig(emulator.Config(u.account)).DescribeSecurityGroups(u.t.Context(), &ec2.DescribeSecurityGroupsInput{
		Filters: []ec2types.Filter{{Name: aws.String("group-name"), Values: []string{"demo-x7k2p-proxy-sg"}}},
	})
	u.try(err)
	var rules []string
	for _, g := range found.SecurityGroups {
		for _, p := range g.IpPermissions {
			for _, r := range p.IpRanges {
				rules = append(rules, fmt.Sprintf("%s %d-%d %s", *p.IpProtocol, *p.FromPort, *p.ToPort, *r.CidrIp))
			}
		}
	}
	slices.Sort(rules)
	return rules
}

// userData returns the user data of the only instance.
func (u *user) userData() string {
	u.t.Helper()
	answer, err := ec2.NewFromConfig(emulator.Config(u.account)).DescribeInstanceAttribute(u.t.Context(), &ec2.DescribeInstanceAttributeInput{
		InstanceId: u.bastion().InstanceId, Attribute: ec2types.InstanceAttributeNameUserData,
	})
	u.try(err)
	text, err := base64.StdEncoding.DecodeString(*answer.UserData.Value)
	u.try(err)
	return string(text)
}

// checkProxy checks the only instance of the account, which is the proxy.
func (u *user) checkProxy(ports string) ec2types.Instance {
	u.t.Helper()
	proxy := u.bastion()
	volumes, err := ec2.NewFromConfig(emulator.Config(u.account)).DescribeVolumes(u.t.Context(), &ec2.DescribeVolumesInput{
		Filters: []ec2types.Filter{{Name: aws.String("attachment.instance-id"), Values: []string{*proxy.InstanceId}}},
	})
	u.try(err)
	for problem, found := range map[string]bool{
		"the rules are " + strings.Join(u.proxyIngress(), ", "): !slices.Equal(u.proxyIngress(), []string{"tcp " + ports + " 10.0.0.0/16"}),
		"a key may log in":            aws.ToString(proxy.KeyName) != "",
		"it has permissions in AWS":   proxy.IamInstanceProfile != nil,
		"metadata need no token":      proxy.MetadataOptions.HttpTokens != ec2types.HttpTokensStateRequired,
		"it does not run":             proxy.State.Name != ec2types.InstanceStateNameRunning,
		"it has no way out":           proxy.PublicIpAddress == nil,
		"the volume is not encrypted": len(volumes.Volumes) != 1 || !aws.ToBool(volumes.Volumes[0].Encrypted),
		"its address is " + aws.ToString(proxy.PrivateIpAddress): aws.ToString(proxy.PrivateIpAddress) != "10.0.0.10",
		"its image is not of Amazon Linux":                       *proxy.ImageId != awsemulator.ImageAMD64,
		"it is in a group of others":                             len(proxy.SecurityGroups) != 1 || *proxy.SecurityGroups[0].GroupName != "demo-x7k2p-proxy-sg",
	} {
		if found {
			u.t.Error(problem)
		}
	}
	return proxy
}

// changeProxy changes by hand attributes that create infra repairs.
func (u *user) changeProxy() {
	u.t.Helper()
	ctx, e, proxy := u.t.Context(), ec2.NewFromConfig(emulator.Config(u.account)), u.bastion()
	group := proxy.SecurityGroups[0].GroupId
	_, err := e.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: group, IpPermissions: []ec2types.IpPermission{
		{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(22), ToPort: aws.Int32(22), IpRanges: []ec2types.IpRange{{CidrIp: aws.String("0.0.0.0/0")}}},
	}})
	u.try(err)
	_, err = e.ModifyInstanceMetadataOptions(ctx, &ec2.ModifyInstanceMetadataOptionsInput{InstanceId: proxy.InstanceId, HttpTokens: ec2types.HttpTokensStateOptional})
	u.try(err)
	groups, err := e.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{
		{Name: aws.String("group-name"), Values: []string{"default"}}, {Name: aws.String("vpc-id"), Values: []string{*proxy.VpcId}},
	}})
	u.try(err)
	_, err = e.ModifyInstanceAttribute(ctx, &ec2.ModifyInstanceAttributeInput{InstanceId: proxy.InstanceId, Groups: []string{*groups.SecurityGroups[0].GroupId}})
	u.try(err)
	_, err = e.StopInstances(ctx, &ec2.StopInstancesInput{InstanceIds: []string{*proxy.InstanceId}})
	u.try(err)
	_, err = e.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: []string{*proxy.InstanceId, *group}, Tags: []ec2types.Tag{{Key: aws.String("hypershift.openshift.io/source")}}})
	u.try(err)
}

func TestProxyInsteadOfNATGateways(t *testing.T) {
	t.Parallel()
	for flag, c := range map[string]struct{ ports, plain, secure, other string }{
		"--enable-proxy":        {"3128-3128", "http://10.0.0.10:3128", "", "--enable-secure-proxy"},
		"--enable-secure-proxy": {"3128-3129", "http://10.0.0.10:3128", "https://10.0.0.10:3129", "--enable-proxy"},
	} {
		t.Run(flag, func(t *testing.T) {
			u := newUser(t)
			create := createInfra("us-east-1a,us-east-1b", flag, "--output-file", u.infraJSON())
			if code := u.run(append(create, "--plan")...); code != cli.Changes || len(u.writes) > 0 {
				t.Errorf("plan: exit code %d, writes %v\n%s", code, u.writes, u.err.String())
			}
			u.must(create...)
			proxy, made := u.checkProxy(c.ports), u.made()
			if made.ProxyAddr != c.plain || made.SecureProxyAddr != c.secure || (made.ProxyCA != "") != (c.secure != "") {
				t.Errorf("result %+v", made)
			}
			if got := kinds(u.owned()); got["nat-gateway"]+got["address"] > 0 || got["subnet"] != 4 || got["instance"] != 1 {
				t.Errorf("there are %v", got)
			}
			network, err := emulator.Network(t.Context())
			u.try(err)
			for _, s := range network.Subnets {
				if s.VPC == made.VPCID && (s.Internet != awsemulator.Gateway) != (s.ID == made.Zones[0].SubnetID || s.ID == made.Zones[1].SubnetID) {
					t.Errorf("the way of %s to the internet is %q", s.ID, s.Internet)
				}
				if s.VPC == made.VPCID && s.Internet == awsemulator.NAT {
					t.Errorf("%s has a NAT gateway", s.ID)
				}
			}
			if made.ProxyCA != "" {
				u.checkCertificate(made.ProxyCA)
			}

			first := u.read(u.infraJSON())
			for _, state := range []string{"with", "without"} {
				u.must(create...)
				if again := u.read(u.infraJSON()); len(u.writes) > 0 || !bytes.Equal(again, first) {
					t.Errorf("%s its state, the second run has written %v and returned %s", state, u.writes, again)
				}
				u.try(os.RemoveAll(u.stateDir()))
			}
			u.changeProxy()
			u.must(create...)
			if again := u.checkProxy(c.ports); *again.InstanceId != *proxy.InstanceId || !bytes.Equal(u.read(u.infraJSON()), first) {
				t.Errorf("instance %s", *again.InstanceId)
			}
			if code := u.run(createInfra("us-east-1a,us-east-1b", c.other)...); code != cli.Failed || !strings.Contains(u.err.String(), "which cannot be changed") {
				t.Errorf("the other kind of proxy: exit code %d\n%s", code, u.err.String())
			}

			// Another instance gets the address when the former one is gone.
			_, err = ec2.NewFromConfig(emulator.Config(u.account)).TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{*proxy.InstanceId}})
			u.try(err)
			u.must(create...)
			if again := u.checkProxy(c.ports); *again.InstanceId == *proxy.InstanceId {
				t.Error("the proxy was not launched again")
			}
			if made := u.made(); made.ProxyCA != "" {
				u.checkCertificate(made.ProxyCA)
			}

			if code := u.run("leftovers", "aws", "--infra-id", "demo-x7k2p"); code != cli.Remaining || !strings.Contains(u.out.String(), "demo-x7k2p-http-proxy") {
				t.Errorf("exit code %d; leftovers:\n%s", code, u.out.String())
			}
			u.must(destroyInfra()...)
			u.nothingIsLeft()
		})
	}
}

// checkCertificate checks that clients that trust the authority trust the proxy, and that the key of the authority is not kept.
func (u *user) checkCertificate(authority string) {
	u.t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(authority)) {
		u.t.Fatalf("authority %q", authority)
	}
	data := u.userData()
	var certificates, keys []byte
	for rest := []byte(data); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type == "CERTIFICATE" {
			certificates = append(certificates, pem.EncodeToMemory(block)...)
		} else {
			keys = append(keys, pem.EncodeToMemory(block)...)
		}
	}
	pair, err := tls.X509KeyPair(certificates, keys)
	u.try(err)
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots}); err != nil {
		u.t.Error(err)
	}
	if err := pair.Leaf.VerifyHostname("10.0.0.10"); err != nil {
		u.t.Error(err)
	}
	if n := bytes.Count(keys, []byte("BEGIN")); n != 1 {
		u.t.Errorf("%d keys in the user data", n)
	}
}

// AWS recognizes the second launch by its token, also a launch by another process, which would create other keys.
func TestProxyWhoseLaunchHasNoAnswerIsNotLaunchedTwice(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.try(emulator.Fault(t.Context(), awsemulator.Fault{Kind: awsemulator.AnswerLost, Action: "RunInstances", Account: u.account}))
	u.must(createInfra("us-east-1a", "--enable-secure-proxy", "--output-file", u.infraJSON())...)
	u.checkProxy("3128-3129")
	u.checkCertificate(u.made().ProxyCA)
}

func TestFlagsThatExcludeAProxy(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for flags, want := range map[string]string{
		"--enable-proxy --enable-secure-proxy":       "--enable-secure-proxy includes it",
		"--enable-proxy --public-only":               "public-only infrastructure has no private subnets",
		"--enable-secure-proxy --single-nat-gateway": "with a proxy there is no NAT gateway",
	} {
		if code := u.run(createInfra("us-east-1a", strings.Fields(flags)...)...); code != cli.Usage || len(u.writes)+u.reads > 0 || !strings.Contains(u.err.String(), want) {
			t.Errorf("%s: exit code %d\n%s", flags, code, u.err.String())
		}
	}
}

// A proxy is part of the network that create cluster is given.
func TestClusterWithAProxy(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.must(createInfra("us-east-1a", "--enable-secure-proxy", "--output-file", u.infraJSON())...)
	u.must(u.createIAM("--output-file", u.iamJSON())...)
	u.must("create", "cluster", "aws", "--name", "demo", "--release-image", "example.com/release:1", "--infra-json", u.infraJSON(), "--iam-json", u.iamJSON(), "--render")
	certificate := strings.Split(u.made().ProxyCA, "\n")[1]
	for _, want := range []string{"httpProxy: http://10.0.0.10:3128", "httpsProxy: https://10.0.0.10:3129", "name: demo-proxy-ca", certificate} {
		if !strings.Contains(u.out.String(), want) {
			t.Errorf("%q is not in\n%s", want, u.out.String())
		}
	}
}

func (u *user) read(file string) []byte {
	u.t.Helper()
	text, err := os.ReadFile(file)
	u.try(err)
	return text
}

func (u *user) iamJSON() string { return filepath.Join(u.env.StateHome, "iam.json") }
