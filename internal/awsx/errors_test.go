package awsx_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

func call(service, operation string, err error) error {
	return &smithy.OperationError{ServiceID: service, OperationName: operation, Err: err}
}

func answer(status int, err error) error {
	return &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: err}
}

func code(c, message string) error { return &smithy.GenericAPIError{Code: c, Message: message} }

func TestKindAndMessage(t *testing.T) {
	for name, tc := range map[string]struct {
		err     error
		kind    awsx.ErrorKind
		message string
	}{
		"a deletion of a resource that does not exist": {
			call("EC2", "DeleteSubnet", code("InvalidSubnetID.NotFound", "")), awsx.NotFound, "EC2 DeleteSubnet: InvalidSubnetID.NotFound",
		},
		"a deletion that misses another resource": {
			call("EC2", "DeleteVpcEndpoints", code("InvalidRoute.NotFound", "no route")), awsx.DependencyNotFound, "EC2 DeleteVpcEndpoints: InvalidRoute.NotFound: no route",
		},
		"a second change of a resource": {
			call("IAM", "TagRole", code("ConcurrentModification", "")), awsx.Busy, "IAM TagRole: ConcurrentModification",
		},
		"a start of an instance that stops": {
			call("EC2", "StartInstances", code("IncorrectInstanceState", "")), awsx.Busy, "EC2 StartInstances: IncorrectInstanceState",
		},
		"a resource in another state": {
			call("EC2", "ModifyVpcEndpoint", code("IncorrectState", "pending")), awsx.NotReady, "EC2 ModifyVpcEndpoint: IncorrectState: pending",
		},
		"EC2 throttles": {
			call("EC2", "DescribeVpcEndpoints", answer(503, code("RequestLimitExceeded", "Request limit exceeded."))),
			awsx.Throttled, "EC2 DescribeVpcEndpoints: RequestLimitExceeded: Request limit exceeded",
		},
		"Route 53 throttles": {
			call("Route 53", "ChangeResourceRecordSets", code("Throttling", "Rate exceeded")),
			awsx.Throttled, "Route 53 ChangeResourceRecordSets: Throttling: Rate exceeded",
		},
		"an exhausted quota is not a throttle": {
			call("EC2", "CreateVpcEndpoint", code("VpcEndpointLimitExceeded", "The maximum number is reached.")),
			awsx.Limit, "EC2 CreateVpcEndpoint: VpcEndpointLimitExceeded: The maximum number is reached",
		},
		"the encoded message, new each time, is left out": {
			fmt.Errorf("creating security group: %w", call("EC2", "CreateSecurityGroup",
				answer(403, code("UnauthorizedOperation", "You are not authorized to perform this operation. Encoded authorization failure message: q8xN")))),
			awsx.Denied, "creating security group: EC2 CreateSecurityGroup: UnauthorizedOperation: You are not authorized to perform this operation",
		},
		"a role that does not trust us is about identity, whoever called": {
			call("EC2", "DescribeVpcEndpoints", fmt.Errorf("get identity: %w",
				call("STS", "AssumeRoleWithWebIdentity", answer(403, code("AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity"))))),
			awsx.Identity, "STS AssumeRoleWithWebIdentity: AccessDenied: Not authorized to perform sts:AssumeRoleWithWebIdentity",
		},
		"a token that AWS cannot verify": {
			call("STS", "AssumeRoleWithWebIdentity", code("InvalidIdentityToken", "No OpenIDConnect provider found")),
			awsx.Identity, "STS AssumeRoleWithWebIdentity: InvalidIdentityToken: No OpenIDConnect provider found",
		},
		"STS that cannot reach the issuer is a transient error": {
			call("STS", "AssumeRoleWithWebIdentity", code("IDPCommunicationError", "")),
			awsx.Transient, "STS AssumeRoleWithWebIdentity: IDPCommunicationError",
		},
		"a group that an endpoint still uses": {
			call("EC2", "DeleteSecurityGroup", code("DependencyViolation", "resource sg-1 has a dependent object")),
			awsx.InUse, "EC2 DeleteSecurityGroup: DependencyViolation: resource sg-1 has a dependent object",
		},
		"gone": {
			call("EC2", "DescribeVpcEndpoints", code("InvalidVpcEndpointId.NotFound", "no")),
			awsx.NotFound, "EC2 DescribeVpcEndpoints: InvalidVpcEndpointId.NotFound: no",
		},
		"a missing bucket":   {call("S3", "PutObject", code("NoSuchBucket", "")), awsx.NotFound, "S3 PutObject: NoSuchBucket"},
		"a duplicate rule":   {call("EC2", "AuthorizeSecurityGroupIngress", code("InvalidPermission.Duplicate", "")), awsx.Exists, "EC2 AuthorizeSecurityGroupIngress: InvalidPermission.Duplicate"},
		"refused parameters": {call("EC2", "CreateVpcEndpoint", code("InvalidServiceName", "")), awsx.Invalid, "EC2 CreateVpcEndpoint: InvalidServiceName"},
		"S3 HEAD without a body": {
			call("S3", "HeadObject", answer(403, code("UnknownError", "UnknownError"))),
			awsx.Denied, "S3 HeadObject: UnknownError",
		},
		"an answer of 500 without a code": {
			call("EC2", "DescribeSubnets", answer(500, code("SomethingNew", ""))),
			awsx.Transient, "EC2 DescribeSubnets: SomethingNew",
		},
		"a connection that broke, without its port": {
			call("EC2", "DescribeSubnets", errors.New("read tcp 127.0.0.1:43210->127.0.0.1:5000: connection reset by peer")),
			awsx.Transient, "EC2 DescribeSubnets: no answer from AWS",
		},
		"a deadline": {
			call("EC2", "DescribeSubnets", context.DeadlineExceeded),
			awsx.Transient, "EC2 DescribeSubnets: no answer from AWS",
		},
		"a stop of the operator": {
			call("EC2", "DescribeSubnets", context.Canceled),
			awsx.Canceled, "EC2 DescribeSubnets: no answer from AWS",
		},
		"an unknown code":  {call("EC2", "DescribeSubnets", code("Weird", "really")), awsx.Other, "EC2 DescribeSubnets: Weird: really"},
		"no error of AWS":  {errors.New("disk full"), awsx.NotAWS, "disk full"},
		"no error at all":  {nil, awsx.None, ""},
		"in use by suffix": {call("Route 53", "DeleteHostedZone", code("HostedZoneNotEmpty", "")), awsx.InUse, "Route 53 DeleteHostedZone: HostedZoneNotEmpty"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := awsx.Kind(tc.err); got != tc.kind {
				t.Errorf("kind %q, want %q", got, tc.kind)
			}
			if got := awsx.Message(tc.err); got != tc.message {
				t.Errorf("message %q, want %q", got, tc.message)
			}
		})
	}
}

func TestOnlyErrorsWithUnknownOutcomeAreTransient(t *testing.T) {
	for kind, want := range map[string]bool{"RequestLimitExceeded": true, "InternalError": true, "UnauthorizedOperation": false, "InvalidIdentityToken": false} {
		if got := awsx.IsTransient(call("EC2", "X", code(kind, ""))); got != want {
			t.Errorf("%s: transient %v, want %v", kind, got, want)
		}
	}
}

func TestOwnedTagsWinOverTheUsers(t *testing.T) {
	got := awsx.OwnedTags(awsx.Tags{awsx.OwnerTag: "stranger", "team": "blue", "Name": "mine"}, "uid-1", "role", "demo-x", "ours")
	want := awsx.Tags{awsx.OwnerTag: "uid-1", awsx.RoleTag: "role", "kubernetes.io/cluster/demo-x": "owned", "team": "blue", "Name": "mine"}
	if missing := want.Missing(got); missing != nil || len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
