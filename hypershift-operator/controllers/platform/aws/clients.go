package aws

import (
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/awsx/loadbalancer"
)

// WithAWS returns o with all fields that call AWS. permissions is how often the principals of an endpoint service are checked.
func (o Options) WithAWS(cfg awssdk.Config, permissions time.Duration) Options {
	// A listing is shared by the objects that are reconciled within most of a resync period. Therefore one period costs about
	// one listing, and each pass of an object uses a listing that is newer than its last pass.
	age := awsx.SharedListTTL(o.Resync)
	o.LoadBalancers = loadbalancer.New(loadbalancer.NewClient(cfg), clock.RealClock{}, age)
	o.Services = endpointservice.New(awsx.EC2(cfg), clock.RealClock{}, endpointservice.Options{ListTTL: age, PrincipalsTTL: permissions})
	o.Caller = identity.NewCaller(awsx.STS(cfg), cfg.Region)
	return o
}
