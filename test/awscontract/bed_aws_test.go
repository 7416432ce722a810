package awscontract

import (
	"cmp"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	r53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

// awsBed is AWS itself, in us-east-1. Prepared by hand, and used by one run at a time:
//
//   - the profiles contract-provider and contract-consumer of two accounts;
//   - provider: network load balancers contract-1 and contract-2 in two zones, and the
//     bucket in HYPERSHIFT_CONTRACT_BUCKET, readable by everybody;
//   - consumer: VPCs with the Name tags contract-vpc and contract-other; subnets a, a2, b,
//     unserved and foreign (see world) named contract-a and so on; the private zone
//     contract.hypershift.local on contract-vpc, which has no internet gateway; the quotas
//     of a new account; an identity provider for
//     https://<bucket>.s3.us-east-1.amazonaws.com/issuer with the audience openshift; the
//     role contract that trusts it for the subject in world_test.go.
type awsBed struct{}

func (awsBed) name() string { return "aws" }

func (awsBed) lacks(*awsrules.Rule) string { return "" }

func (awsBed) world(t testing.TB) *world {
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	settles := &settling{time: 5 * time.Second} // one for both accounts: cases write in turn
	open := func(profile string, retryer func() aws.Retryer) side {
		cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(region), config.WithSharedConfigProfile(profile), config.WithRetryer(retryer))
		must(err)
		who, err := sts.NewFromConfig(cfg).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
		must(err)
		return newSide(*who.Account, cfg, settles)
	}
	standard := func() aws.Retryer { return retry.NewStandard() }
	consumer := cmp.Or(os.Getenv("HYPERSHIFT_CONTRACT_CONSUMER"), "contract-consumer")
	w := &world{
		provider:  open(cmp.Or(os.Getenv("HYPERSHIFT_CONTRACT_PROVIDER"), "contract-provider"), standard),
		consumer:  open(consumer, standard),
		quick:     open(consumer, func() aws.Retryer { return aws.NopRetryer{} }),
		anonymous: sts.NewFromConfig(aws.Config{Region: region}),
		bucket:    os.Getenv("HYPERSHIFT_CONTRACT_BUCKET"),
		domain:    "contract.hypershift.local",
		image:     "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64",
		clock:     clock.RealClock{},
		wait:      poll(5*time.Second, 10*time.Minute),
	}
	w.issuer = "https://" + w.bucket + ".s3." + region + ".amazonaws.com/issuer"
	w.principal = "arn:aws:iam::" + w.consumer.account + ":root"
	w.role = "arn:aws:iam::" + w.consumer.account + ":role/contract"
	for i, lb := range []*loadBalancer{&w.balancer, &w.balancer2} {
		lb.name = []string{"contract-1", "contract-2"}[i]
		out, err := w.provider.elb.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{Names: []string{lb.name}})
		must(err)
		lb.arn = *out.LoadBalancers[0].LoadBalancerArn
		w.provisioning = func(t testing.TB, name string) string {
			var subnets []string
			for _, zone := range out.LoadBalancers[0].AvailabilityZones {
				subnets = append(subnets, *zone.SubnetId)
			}
			return w.newLoadBalancer(t, name, subnets)
		}
	}
	for name, id := range map[string]*string{"contract-vpc": &w.vpc, "contract-other": &w.other} {
		out, err := w.consumer.ec2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{Filters: filter("tag:Name", name)})
		must(err)
		if len(out.Vpcs) != 1 {
			t.Fatalf("%d VPCs are named %s, not one", len(out.Vpcs), name)
		}
		*id = *out.Vpcs[0].VpcId
	}
	for name, id := range map[string]*string{"contract-a": &w.a, "contract-a2": &w.a2, "contract-b": &w.b, "contract-unserved": &w.unserved, "contract-foreign": &w.foreign} {
		out, err := w.consumer.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: filter("tag:Name", name)})
		must(err)
		if len(out.Subnets) != 1 {
			t.Fatalf("%d subnets are named %s, not one", len(out.Subnets), name)
		}
		*id = *out.Subnets[0].SubnetId
	}
	zones, err := w.consumer.route53.ListHostedZonesByVPC(ctx, &route53.ListHostedZonesByVPCInput{VPCId: &w.vpc, VPCRegion: r53types.VPCRegion(region)})
	must(err)
	for _, z := range zones.HostedZoneSummaries {
		if strings.TrimSuffix(*z.Name, ".") == w.domain {
			w.hostedZone = *z.HostedZoneId
		}
	}
	return w
}
