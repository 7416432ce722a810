package endpoint

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
)

// API is the part of EC2 that this package calls.
type API interface {
	ec2util.Retagger
	DescribeVpcEndpoints(context.Context, *ec2.DescribeVpcEndpointsInput, ...func(*ec2.Options)) (*ec2.DescribeVpcEndpointsOutput, error)
	CreateVpcEndpoint(context.Context, *ec2.CreateVpcEndpointInput, ...func(*ec2.Options)) (*ec2.CreateVpcEndpointOutput, error)
	ModifyVpcEndpoint(context.Context, *ec2.ModifyVpcEndpointInput, ...func(*ec2.Options)) (*ec2.ModifyVpcEndpointOutput, error)
	DeleteVpcEndpoints(context.Context, *ec2.DeleteVpcEndpointsInput, ...func(*ec2.Options)) (*ec2.DeleteVpcEndpointsOutput, error)
}

// Spec is the endpoint we want.
type Spec struct {
	Owner       string // UID of the HostedControlPlane
	Role        string // which of its endpoints this is
	ServiceName string
	VPC         string
	Subnets     []string // at most one in each zone
	Groups      []string
	Tags        awsx.Tags

	// StaleTags are keys of tags that it may have and should not.
	StaleTags []string `json:"-"`
	// Previous is the id that was last recorded for this endpoint. It makes the
	// token of a new attempt another one once the endpoint it names is gone.
	Previous string
	// ZoneOf says in which zone a subnet is, for the wanted ones and for those
	// that the endpoint has.
	ZoneOf map[string]string
	// Hooks are called about changes; they are no part of the desired state.
	Hooks awsx.Hooks `json:"-"`
}

// Endpoint is an endpoint as AWS last showed it.
type Endpoint struct {
	ID, VPC, ServiceName string
	State                State
	// Why is what AWS says of a failed endpoint.
	Why     string
	Subnets []string
	Groups  []string
	Tags    awsx.Tags
	// Policy is the policy document, PrivateDNS whether the service's private name
	// resolves to the endpoint.
	Policy        string
	PrivateDNS    bool
	IPAddressType string
	// DNSName is the regional name, which resolves in every zone.
	DNSName string
}

// State is where an endpoint is in its life.
type State string

// The states. AWS writes them in more than one way.
const (
	PendingAcceptance State = "pendingacceptance"
	Pending           State = "pending"
	Available         State = "available"
	Rejected          State = "rejected"
	Failed            State = "failed"
	Expired           State = "expired"
	Deleting          State = "deleting"
	Deleted           State = "deleted"
)

// Leaving says that the endpoint is on its way out and can serve nobody.
func (s State) Leaving() bool { return s == Deleting || s == Deleted }

// Dead says that the endpoint will never be available: only a new one helps.
func (s State) Dead() bool { return s == Rejected || s == Failed || s == Expired }

func read(e types.VpcEndpoint) Endpoint {
	out := Endpoint{
		ID:          aws.ToString(e.VpcEndpointId),
		VPC:         aws.ToString(e.VpcId),
		ServiceName: aws.ToString(e.ServiceName),
		State:       State(strings.ToLower(string(e.State))),
		Subnets:     e.SubnetIds,
		Tags:        ec2util.Tags(e.Tags),

		Policy:        aws.ToString(e.PolicyDocument),
		PrivateDNS:    aws.ToBool(e.PrivateDnsEnabled),
		IPAddressType: string(e.IpAddressType),
	}
	for _, g := range e.Groups {
		out.Groups = append(out.Groups, aws.ToString(g.GroupId))
	}
	if len(e.DnsEntries) > 0 {
		out.DNSName = aws.ToString(e.DnsEntries[0].DnsName)
	}
	if e.LastError != nil {
		out.Why = aws.ToString(e.LastError.Message)
	}
	return out
}
