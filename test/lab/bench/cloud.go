package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

const (
	region   = "us-east-1"
	provider = "111111111111"
	customer = "222222222222"
	bucket   = "bench-oidc"
)

// observer is the role of calls by the benchmark itself.
const observer = "bench"

// cloud is AWS with the accounts of the provider and of a customer.
type cloud struct {
	*fakeaws.Cloud
	mine, theirs *fakeaws.Account
}

func newCloud() *cloud {
	c := &cloud{Cloud: fakeaws.New(clock.RealClock{})}
	c.SetDelays(fakeaws.Delays{})
	c.mine, c.theirs = c.Account(provider), c.Account(customer)
	c.mine.AddBucket(region, bucket)
	return c
}

// signIn gives this process the identity of the hypershift-operator in the provider's account, through the environment
// that every AWS program reads. Requests are signed as in production; only the network is missing.
func (c *cloud) signIn() error {
	who, err := c.mine.Config(region, names.HypershiftOperator).Credentials.Retrieve(context.Background())
	if err != nil {
		return fmt.Errorf("making credentials for the operator: %w", err)
	}
	return errors.Join(os.Setenv("AWS_ACCESS_KEY_ID", who.AccessKeyID), os.Setenv("AWS_SECRET_ACCESS_KEY", who.SecretAccessKey))
}

// calls are the calls of the operators since the last ForgetCalls.
func (c *cloud) calls() []fakeaws.Call {
	return slices.DeleteFunc(c.Calls(), func(call fakeaws.Call) bool { return call.Role == observer })
}

// zones are the zones of load balancers and subnets.
var zones = []string{"us-east-1a", "us-east-1b", "us-east-1c"}

// addBalancer creates a load balancer like the cloud controller.
func (c *cloud) addBalancer(name string) (arn, host string) {
	return c.mine.AddLoadBalancer(region, fakeaws.LoadBalancer{Name: name, Zones: zones, State: "active"})
}

// addCustomer prepares the customer's account for a cluster of that name.
func (c *cloud) addCustomer(name string, publicKey []byte) (*cluster, error) {
	jwks, err := webidentity.JWKS(publicKey)
	if err != nil {
		return nil, err
	}
	cl := newCluster(name)
	c.theirs.AddIdentityProvider(fakeaws.IdentityProvider{Issuer: cl.issuer(), Audiences: []string{names.WebIdentityAudience}, JWKS: jwks})
	c.theirs.AddRole(fakeaws.Role{Name: name + "-cpo", Trusts: []fakeaws.Trust{{
		Issuer: cl.issuer(), Subjects: []string{names.ControlPlaneOperatorSubject}, Audiences: []string{names.WebIdentityAudience},
	}}})
	cl.vpc = c.theirs.AddVPC(region, fakeaws.VPC{})
	cl.subnets = nil
	for _, zone := range zones {
		cl.subnets = append(cl.subnets, c.theirs.AddSubnet(region, fakeaws.Subnet{VPC: cl.vpc, Zone: c.theirs.ZoneName(region, c.mine.ZoneID(zone))}))
	}
	c.theirs.AddHostedZone(fakeaws.HostedZone{Name: names.LocalZone(name), VPCs: []fakeaws.ZoneVPC{{Region: region, ID: cl.vpc}}})
	return cl, nil
}
