package awscontract

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

// emulator makes its two accounts once: a case deletes its resources.
type emulator struct {
	*awsemulator.Emulator
	shared *world
}

// unenforced is the rule that the emulator does not enforce here: the cases create more endpoints than an account may in a minute.
const unenforced = "ec2-requests-endpoints"

func (*emulator) name() string { return "emulator" }

func (*emulator) lacks(*awsrules.Rule) string { return "" }

// emulatorBed starts the emulator, or returns nil where it cannot run.
func emulatorBed(t *testing.T) bed {
	if testing.Short() {
		return nil
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Log("no python3, so no emulator")
		return nil
	}
	e, err := awsemulator.Start(context.WithoutCancel(t.Context()), awsemulator.Options{Region: region, Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Stop)
	e.FailOnRefused(t, "")
	if err := e.SetDelays(t.Context(), awsemulator.Delays{"endpoint.create": 300 * time.Millisecond, "endpoint.delete": time.Second, "loadBalancer.create": 0, "route53.change": 100 * time.Millisecond, "iam.visibility": 500 * time.Millisecond,
		// The bed makes its public bucket by three calls in a row.
		"s3.publicAccess": 0, "visibility": visibility,
		// As long as the requests of an account are apart, so that two changes of a zone meet.
		"route53.processing": 500 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	for _, rule := range awsrules.All {
		if err := e.Enforce(t.Context(), rule.ID, rule.ID != unenforced); err != nil {
			t.Fatal(err)
		}
	}
	return &emulator{Emulator: e}
}

// visibility is how long EC2 does not find a created resource.
const visibility = 200 * time.Millisecond

func (e *emulator) world(t testing.TB) *world {
	if e.shared == nil {
		e.shared = e.prepare(t)
	}
	return e.shared
}

// prepare makes two accounts through the SDK, as a person would.
func (e *emulator) prepare(t testing.TB) *world {
	ctx := t.Context()
	one, two := e.NewAccount(), e.NewAccount()
	mine, theirs := e.Config(one), e.Config(two)
	// A call that is tried again is refused as its own duplicate; after a broken connection, the whole case is repeated.
	quick := theirs.Copy()
	quick.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	throttled := func() aws.Retryer {
		return &throttledRetryer{pause: func() time.Duration { return 300 * time.Millisecond }}
	}
	mine.Retryer, theirs.Retryer = throttled, throttled
	settles := &settling{time: visibility + 50*time.Millisecond}
	w := &world{
		quick:     newSide(two, quick, settles),
		provider:  newSide(one, mine, &settling{time: settles.time}),
		consumer:  newSide(two, theirs, settles),
		anonymous: sts.NewFromConfig(aws.Config{Region: region, BaseEndpoint: aws.String(e.URL)}),
		bucket:    "contract-" + one,
		principal: "arn:aws:iam::" + two + ":root",
		domain:    "contract.hypershift.local",
		image:     awsemulator.ImageAMD64,
		delaysIAM: true,
		clock:     clock.RealClock{},
		takeRefused: func() []string {
			refused, err := e.TakeRefused(context.WithoutCancel(ctx), "")
			if err != nil {
				t.Error(err)
			}
			var names []string
			for _, r := range refused {
				names = append(names, r.Name())
			}
			return names
		},
		wait: poll(50*time.Millisecond, 10*time.Second),
	}
	w.issuer = "https://" + w.bucket + ".s3." + region + ".amazonaws.com/issuer"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(fmt.Errorf("preparing the emulator: %w", err))
		}
	}

	places, err := w.provider.ec2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	must(err)
	network, err := w.provider.ec2.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.9.0.0/16")})
	must(err)
	var lbSubnets []string
	for i, z := range places.AvailabilityZones[:2] {
		s, err := w.provider.ec2.CreateSubnet(ctx, &ec2.CreateSubnetInput{VpcId: network.Vpc.VpcId, AvailabilityZone: z.ZoneName, CidrBlock: aws.String(fmt.Sprintf("10.9.%d.0/24", i))})
		must(err)
		lbSubnets = append(lbSubnets, *s.Subnet.SubnetId)
	}
	for i, lb := range []*loadBalancer{&w.balancer, &w.balancer2} {
		lb.name = fmt.Sprintf("contract-%d", i+1)
		made, err := w.provider.elb.CreateLoadBalancer(ctx, &elb.CreateLoadBalancerInput{
			Name: &lb.name, Type: elbtypes.LoadBalancerTypeEnumNetwork, Scheme: elbtypes.LoadBalancerSchemeEnumInternal, Subnets: lbSubnets})
		must(err)
		lb.arn = *made.LoadBalancers[0].LoadBalancerArn
		w.wait(ctx, func() bool {
			got, err := w.provider.elb.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{Names: []string{lb.name}})
			return err == nil && got.LoadBalancers[0].State.Code == elbtypes.LoadBalancerStateEnumActive
		})
	}
	w.provisioning = func(t testing.TB, name string) string {
		if err := e.SetDelays(t.Context(), awsemulator.Delays{"loadBalancer.create": time.Second}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.SetDelays(context.WithoutCancel(t.Context()), awsemulator.Delays{"loadBalancer.create": 0}); err != nil {
				t.Error(err)
			}
		})
		return w.newLoadBalancer(t, name, lbSubnets)
	}
	_, err = w.provider.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &w.bucket})
	must(err)
	_, err = w.provider.s3.DeletePublicAccessBlock(ctx, &s3.DeletePublicAccessBlockInput{Bucket: &w.bucket})
	must(err)
	_, err = w.provider.s3.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: &w.bucket, Policy: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::` + w.bucket + `/*"}]}`)})
	must(err)

	own := map[string]string{} // the consumer's names of zones, by id
	names, err := w.consumer.ec2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	must(err)
	for _, z := range names.AvailabilityZones {
		own[*z.ZoneId] = *z.ZoneName
	}
	for i, v := range []*string{&w.vpc, &w.other} {
		made, err := w.consumer.ec2.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String(fmt.Sprintf("10.%d.0.0/16", i))})
		must(err)
		*v = *made.Vpc.VpcId
		for _, on := range []*ec2.ModifyVpcAttributeInput{
			{VpcId: v, EnableDnsSupport: &ec2types.AttributeBooleanValue{Value: aws.Bool(true)}},
			{VpcId: v, EnableDnsHostnames: &ec2types.AttributeBooleanValue{Value: aws.Bool(true)}},
		} {
			_, err = w.consumer.ec2.ModifyVpcAttribute(ctx, on)
			must(err)
		}
	}
	for _, s := range []struct {
		id    *string
		vpc   string
		place int
		cidr  string
	}{{&w.a, w.vpc, 0, "10.0.0.0/24"}, {&w.a2, w.vpc, 0, "10.0.1.0/24"}, {&w.b, w.vpc, 1, "10.0.2.0/24"}, {&w.unserved, w.vpc, 2, "10.0.3.0/24"}, {&w.foreign, w.other, 0, "10.1.0.0/24"}} {
		made, err := w.consumer.ec2.CreateSubnet(ctx, &ec2.CreateSubnetInput{VpcId: &s.vpc, CidrBlock: &s.cidr, AvailabilityZone: aws.String(own[*places.AvailabilityZones[s.place].ZoneId])})
		must(err)
		*s.id = *made.Subnet.SubnetId
	}
	w.hostedZone, err = e.PrivateZone(ctx, two, w.domain, w.vpc)
	must(err)
	p, err := iam.NewFromConfig(theirs).CreateOpenIDConnectProvider(ctx, &iam.CreateOpenIDConnectProviderInput{Url: &w.issuer, ClientIDList: []string{audience}, ThumbprintList: []string{thumbprint}})
	must(err)
	w.role, err = e.Role(ctx, two, "contract", awsemulator.TrustWebIdentity(*p.OpenIDConnectProviderArn, subject))
	must(err)
	return w
}

// poll waits in real time.
func poll(every, atMost time.Duration) func(context.Context, func() bool) bool {
	return func(ctx context.Context, so func() bool) bool {
		ctx, cancel := context.WithTimeout(ctx, atMost)
		defer cancel()
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			if so() {
				return true
			}
			select {
			case <-ctx.Done():
				return false
			case <-tick.C:
			}
		}
	}
}
