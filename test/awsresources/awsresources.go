// Package awsresources lists the resources of internal/awsx for the tests that go through all of them: the page
// docs/aws-drift.md has their attributes, and the policies of config/iam allow their calls.
package awsresources

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpoint"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instancetypes"
	"github.com/hosted-control-planes/hypershift/internal/awsx/kmskey"
	"github.com/hosted-control-planes/hypershift/internal/awsx/loadbalancer"
	"github.com/hosted-control-planes/hypershift/internal/awsx/oidcdocs"
	"github.com/hosted-control-planes/hypershift/internal/awsx/records"
	"github.com/hosted-control-planes/hypershift/internal/awsx/registrybucket"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/awsx/subnet"
)

// A Resource is a package of internal/awsx.
type Resource struct {
	Title string
	// API declares the calls, Service is their prefix in policies. Policies are the documents of config/iam that allow them.
	API      reflect.Type
	Service  string
	Policies []string
	// SDK is the type that AWS describes the resource with, and Attributes contains an entry for each of its fields. Nil
	// for a resource that is not on the page.
	SDK        reflect.Type
	Attributes []awsx.Attribute
}

// Policies of the customer's and of the management account.
var (
	customer   = []string{"control-plane-operator.json", "shared-vpc-control-plane.json"}
	management = []string{"hypershift-operator.json"}
)

// All returns all resources.
func All() []Resource {
	return []Resource{
		{
			Title: "VPC endpoint", API: reflect.TypeFor[endpoint.API](), Service: "ec2", Policies: customer,
			SDK: reflect.TypeFor[types.VpcEndpoint](), Attributes: endpoint.Attributes(),
		},
		{
			Title: "VPC endpoint service", API: reflect.TypeFor[endpointservice.API](), Service: "ec2", Policies: management,
			SDK: reflect.TypeFor[types.ServiceConfiguration](), Attributes: endpointservice.Attributes(),
		},
		{Title: "security group", API: reflect.TypeFor[securitygroup.API](), Service: "ec2", Policies: customer},
		{Title: "subnet", API: reflect.TypeFor[subnet.API](), Service: "ec2", Policies: customer},
		{Title: "DNS records", API: reflect.TypeFor[records.API](), Service: "route53", Policies: []string{"control-plane-operator.json", "shared-vpc-ingress.json"}},
		{Title: "instance types", API: reflect.TypeFor[instancetypes.API](), Service: "ec2", Policies: management},
		{Title: "load balancer", API: reflect.TypeFor[loadbalancer.API](), Service: "elasticloadbalancing", Policies: management},
		{Title: "OIDC documents", API: reflect.TypeFor[oidcdocs.API](), Service: "s3", Policies: management},
		{Title: "bucket of the image registry", API: reflect.TypeFor[registrybucket.API](), Service: "s3", Policies: []string{"image-registry.json"}},
		{Title: "KMS key", API: reflect.TypeFor[kmskey.API](), Service: "kms", Policies: []string{"kms-provider.json"}},
	}
}

// Actions returns the actions that the resources call which name the policy.
func Actions(policy string) []string {
	var actions []string
	for _, r := range All() {
		for _, p := range r.Policies {
			if p != policy {
				continue
			}
			for i := range r.API.NumMethod() {
				if m := r.API.Method(i); m.Type.NumIn() > 0 { // a method without input makes no call
					actions = append(actions, r.Service+":"+m.Name)
				}
			}
		}
	}
	return actions
}
