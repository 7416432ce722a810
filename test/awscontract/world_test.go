package awscontract

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

const region = "us-east-1"

// bed is something that behaves like AWS.
type bed interface {
	name() string
	// lacks returns the reason why the bed does not have the rule, or "".
	lacks(rule *awsrules.Rule) string
	// world returns two accounts in which the case can make any call.
	world(t testing.TB) *world
}

// side is one account.
type side struct {
	account string
	ec2     *ec2.Client
	elb     *elb.Client
	iam     *iam.Client
	route53 *route53.Client
	s3      *s3.Client
	sts     *sts.Client
}

// newSide returns clients of an account. Their descriptions of EC2 wait until it has settled.
func newSide(account string, cfg aws.Config, s *settling) side {
	return side{account, ec2.NewFromConfig(s.config(cfg)), elb.NewFromConfig(cfg), iam.NewFromConfig(cfg), route53.NewFromConfig(cfg), s3.NewFromConfig(cfg), sts.NewFromConfig(cfg)}
}

// world is the start of every case.
//
//	provider                      consumer
//	  balancer, balancer2           vpc: a, a2 (one zone), b (a second), unserved (a third)
//	  in the zones of a and b       other: foreign, in the zone of a
//	  bucket                        zone, private, on vpc; role, trusting issuer
type world struct {
	provider, consumer side
	// quick is the consumer, with calls that are made once.
	quick side
	// provisioning creates a load balancer of the provider that is not active yet, and returns its ARN. It is deleted after the case.
	provisioning func(t testing.TB, name string) string

	balancer, balancer2 loadBalancer
	bucket              string

	vpc, other              string
	a, a2, b, unserved      string
	foreign                 string
	hostedZone, domain      string
	issuer, role, principal string // principal lets the consumer in
	// signingKey and publicKey are the key of the issuer: one for all cases, because STS keeps public keys for some time.
	signingKey, publicKey []byte
	image                 string // of machines with an x86-64 processor
	// delaysIAM: a resource that IAM creates is never found at once. On AWS it may be.
	delaysIAM bool

	clock clock.PassiveClock
	// wait lets time pass until something is so, and says whether it came true.
	wait func(ctx context.Context, so func() bool) bool
	// takeRefused returns the requests that the service models did not allow, as "service.Operation Code", and forgets
	// them. Nil for AWS itself.
	takeRefused func() []string
	// anonymous is a client without credentials, for web identity.
	anonymous *sts.Client
}

// newLoadBalancer creates a network load balancer of the provider, which is deleted after the case.
func (w *world) newLoadBalancer(t testing.TB, name string, subnets []string) string {
	made, err := w.provider.elb.CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{
		Name: &name, Type: elbtypes.LoadBalancerTypeEnumNetwork, Scheme: elbtypes.LoadBalancerSchemeEnumInternal, Subnets: subnets})
	if err != nil {
		t.Fatal(err)
	}
	arn := made.LoadBalancers[0].LoadBalancerArn
	t.Cleanup(func() {
		_, err := w.provider.elb.DeleteLoadBalancer(context.WithoutCancel(t.Context()), &elb.DeleteLoadBalancerInput{LoadBalancerArn: arn})
		if err != nil {
			t.Errorf("deleting load balancer %s: %v", name, err)
		}
	})
	return *arn
}

type loadBalancer struct{ name, arn string }

// The role trusts tokens with these claims.
const (
	subject  = "system:serviceaccount:kube-system:contract"
	audience = "openshift"
)
