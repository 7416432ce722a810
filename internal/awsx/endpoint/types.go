package endpoint

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
)

// API is the part of EC2 that a Manager calls.
type API interface {
	ec2util.Retagger
	Writer
	DescribeVpcEndpoints(context.Context, *ec2.DescribeVpcEndpointsInput, ...func(*ec2.Options)) (*ec2.DescribeVpcEndpointsOutput, error)
}

// Writer contains the calls that write endpoints.
type Writer interface {
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
	// RouteTables make the endpoint a gateway endpoint: it has neither subnets nor groups.
	RouteTables []string `json:",omitempty"`

	// StaleTags are keys of tags that it may have and should not.
	StaleTags []string `json:"-"`
	// Previous is the id that was last recorded for this endpoint. It gives the next
	// creation another client token when that endpoint is gone.
	Previous string
	// ZoneOf is the zone of each subnet: of the desired ones, and of those that the
	// endpoint has.
	ZoneOf map[string]string
	// Hooks are called about changes; they are no part of the desired state.
	Hooks awsx.Hooks `json:"-"`
}

// Endpoint is an endpoint as last observed.
type Endpoint struct {
	ID, VPC, ServiceName string
	State                State
	// Why is the reason that AWS gives for a failure.
	Why     string
	Subnets []string
	Groups  []string
	Tags    awsx.Tags
	// RouteTables are those of a gateway endpoint, sorted.
	RouteTables []string
	// Policy is the policy document, PrivateDNS whether the service's private name
	// resolves to the endpoint.
	Policy        string
	PrivateDNS    bool
	IPAddressType string
	// DNSName is the regional name, which resolves in every zone.
	DNSName string
}

// State is the state of an endpoint.
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

// Leaving is true for an endpoint that is being deleted.
func (s State) Leaving() bool { return s == Deleting || s == Deleted }

// Dead is true for an endpoint that never becomes available again and has to be
// replaced.
func (s State) Dead() bool { return s == Rejected || s == Failed || s == Expired }

// Read returns the endpoint that EC2 has described.
func Read(e types.VpcEndpoint) Endpoint {
	out := Endpoint{
		ID:          aws.ToString(e.VpcEndpointId),
		VPC:         aws.ToString(e.VpcId),
		ServiceName: aws.ToString(e.ServiceName),
		State:       State(strings.ToLower(string(e.State))),
		Subnets:     e.SubnetIds,
		Tags:        ec2util.Tags(e.Tags),
		RouteTables: slices.Sorted(slices.Values(e.RouteTableIds)),

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
