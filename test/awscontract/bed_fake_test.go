package awscontract

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/test/awsrules"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

type fakeBed struct{}

func (fakeBed) name() string { return "fakeaws" }

func (fakeBed) lacks(rule *awsrules.Rule) string {
	if rule.NotInFake != "" {
		return rule.NotInFake
	}
	for _, operation := range rule.Operations {
		if operation == "*" || fakeaws.Serves(rule.Service, operation) {
			return ""
		}
	}
	return "it serves none of the operations"
}

// grumble logs the fake's reports about its caller: a case may request resources that do not exist.
type grumble struct{ testing.TB }

func (g grumble) Errorf(format string, args ...any) { g.Logf(format, args...) }

func (fakeBed) world(t testing.TB) *world {
	ticking := clocktesting.NewFakeClock(clock.RealClock{}.Now())
	cloud := fakeaws.New(ticking).FailOn(grumble{t})
	delays := fakeaws.UsualDelays
	delays.Records, delays.LoadBalancer = 10*time.Second, time.Minute
	cloud.SetDelays(delays)
	cloud.LimitRequests()
	mine, theirs := cloud.Account("111111111111"), cloud.Account("222222222222")
	open := func(a *fakeaws.Account, retryer aws.Retryer) side {
		cfg := a.Config(region, "")
		cfg.Retryer = func() aws.Retryer { return retryer }
		return newSide(a.ID(), cfg, &settling{}) // it finds everything at once
	}
	throttled := &throttledRetryer{pause: func() time.Duration {
		ticking.Step(time.Second)
		return 0
	}}
	w := &world{
		provider:    open(mine, throttled),
		consumer:    open(theirs, throttled),
		quick:       open(theirs, aws.NopRetryer{}),
		anonymous:   sts.NewFromConfig(aws.Config{Region: region, APIOptions: []func(*middleware.Stack) error{cloud.Install}}),
		bucket:      "contract",
		issuer:      "https://contract.s3." + region + ".amazonaws.com/issuer",
		principal:   "arn:aws:iam::" + theirs.ID() + ":root",
		domain:      "contract.hypershift.local",
		clock:       ticking,
		takeRefused: cloud.TakeRefused,
		wait: func(_ context.Context, so func() bool) bool {
			for range 100 {
				if so() {
					return true
				}
				ticking.Step(5 * time.Second)
			}
			return false
		},
	}
	zone := func(name string) string { return theirs.ZoneName(region, mine.ZoneID(name)) }
	served := []string{"us-east-1a", "us-east-1b"}
	for i, lb := range []*loadBalancer{&w.balancer, &w.balancer2} {
		lb.name = []string{"contract-1", "contract-2"}[i]
		lb.arn, _ = mine.AddLoadBalancer(region, fakeaws.LoadBalancer{Name: lb.name, Zones: served})
	}
	ticking.Step(delays.LoadBalancer)
	w.provisioning = func(_ testing.TB, name string) string {
		arn, _ := mine.AddLoadBalancer(region, fakeaws.LoadBalancer{Name: name, Zones: served})
		return arn
	}
	mine.AddBucket(region, w.bucket)
	w.vpc = theirs.AddVPC(region, fakeaws.VPC{})
	w.other = theirs.AddVPC(region, fakeaws.VPC{CIDR: "10.1.0.0/16"})
	w.a = theirs.AddSubnet(region, fakeaws.Subnet{VPC: w.vpc, Zone: zone("us-east-1a")})
	w.a2 = theirs.AddSubnet(region, fakeaws.Subnet{VPC: w.vpc, Zone: zone("us-east-1a")})
	w.b = theirs.AddSubnet(region, fakeaws.Subnet{VPC: w.vpc, Zone: zone("us-east-1b")})
	w.unserved = theirs.AddSubnet(region, fakeaws.Subnet{VPC: w.vpc, Zone: zone("us-east-1c")})
	w.foreign = theirs.AddSubnet(region, fakeaws.Subnet{VPC: w.other, Zone: zone("us-east-1a")})
	w.hostedZone = theirs.AddHostedZone(fakeaws.HostedZone{Name: w.domain, VPCs: []fakeaws.ZoneVPC{{Region: region, ID: w.vpc}}})
	theirs.AddIdentityProvider(fakeaws.IdentityProvider{Issuer: w.issuer, Audiences: []string{audience}})
	w.role = theirs.AddRole(fakeaws.Role{Name: "contract", Trusts: []fakeaws.Trust{{Issuer: w.issuer, Subjects: []string{subject}}}})
	return w
}
