package awsgraph

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/smithy-go"

	"github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// answer returns the error of a call of EC2 with an error code.
func answer(call, code, message string) error {
	return &smithy.OperationError{ServiceID: "EC2", OperationName: call, Err: &smithy.GenericAPIError{Code: code, Message: message}}
}

func TestClassesOfErrors(t *testing.T) {
	lost := &smithy.OperationError{ServiceID: "EC2", OperationName: "DeleteSubnet", Err: errors.New("connection reset by peer")}
	for name, c := range map[string]struct {
		err  error
		want resourcegraph.Class
	}{
		"a deletion of what is gone is complete":                  {answer("DeleteSubnet", "InvalidSubnetID.NotFound", ""), resourcegraph.NotFound},
		"a deletion that misses another resource has failed":      {answer("DeleteVpcEndpoints", "InvalidRoute.NotFound", ""), resourcegraph.Fatal},
		"a gateway that is gone":                                  {answer("DeleteNatGateway", "NatGatewayNotFound", ""), resourcegraph.NotFound},
		"a deletion in another state is not complete":             {answer("DeleteVpnGateway", "IncorrectState", ""), resourcegraph.Inconsistent},
		"a deletion without an answer is repeated":                {lost, resourcegraph.Unknown},
		"a resource with dependents is in use":                    {answer("DeleteVpc", "DependencyViolation", ""), resourcegraph.InUse},
		"an address of a gateway that is being deleted is in use": {answer("ReleaseAddress", "AuthFailure", ""), resourcegraph.InUse},
		"credentials that are not valid":                          {answer("DescribeVpcs", "AuthFailure", ""), resourcegraph.Fatal},
		"a second change of the same resource of IAM":             {answer("TagRole", "ConcurrentModification", ""), resourcegraph.Throttled},
		"a principal that was just created":                       {answer("CreateRole", "MalformedPolicyDocument", "Invalid principal in policy"), resourcegraph.Inconsistent},
		"a policy that is not correct":                            {answer("PutRolePolicy", "MalformedPolicyDocument", "Syntax errors in policy"), resourcegraph.Fatal},
		"a public policy before S3 knows that it is not blocked":  {answer("PutBucketPolicy", "AccessDenied", "because public policies are blocked by the BlockPublicPolicy setting"), resourcegraph.Inconsistent},
		"an instance profile that was just created":               {answer("RunInstances", "InvalidParameterValue", "Value (a) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name"), resourcegraph.Inconsistent},
		"an instance profile that was just given its role":        {answer("RunInstances", "InvalidParameterValue", "IamInstanceProfile arn:aws:iam::1:instance-profile/a has no associated IAM Roles"), resourcegraph.Inconsistent},
		"an instance profile whose role EC2 does not know yet":    {answer("RunInstances", "InvalidParameterValue", `IAM Instance Profile "arn:aws:iam::1:instance-profile/a" has no associated IAM Roles`), resourcegraph.Inconsistent},
		"an instance profile with an ARN that EC2 does not know":  {answer("RunInstances", "InvalidParameterValue", "Value (arn:aws:iam::1:instance-profile/a) for parameter iamInstanceProfile.arn is invalid. Invalid IAM Instance Profile ARN"), resourcegraph.Inconsistent},
		"another parameter that is not valid":                     {answer("RunInstances", "InvalidParameterValue", "Invalid value 'a' for InstanceType"), resourcegraph.Fatal},
		"a call that is denied":                                   {answer("CreateVpc", "UnauthorizedOperation", ""), resourcegraph.Fatal},
		"a zone of the same name":                                 {answer("CreateHostedZone", "ConflictingDomainExists", ""), resourcegraph.Exists},
		"an address of an instance that is being terminated":      {answer("RunInstances", "InvalidIPAddress.InUse", ""), resourcegraph.Throttled},
		"too many calls":                           {answer("CreateVpc", "RequestLimitExceeded", ""), resourcegraph.Throttled},
		"a quota":                                  {answer("CreateVpc", "VpcLimitExceeded", ""), resourcegraph.Fatal},
		"a resource that AWS does not list yet":    {&NotListedError{}, resourcegraph.Inconsistent},
		"an input that AWS still prepares":         {&NotReadyError{}, resourcegraph.Throttled},
		"a resource share that is gone":            {answer("DeleteResourceShare", "UnknownResourceException", ""), resourcegraph.NotFound},
		"a resource share of another organization": {answer("CreateResourceShare", "OperationNotPermittedException", ""), resourcegraph.Fatal},
		"an invitation that was accepted before":   {answer("AcceptResourceShareInvitation", "ResourceShareInvitationAlreadyAcceptedException", ""), resourcegraph.Exists},
	} {
		if got := Classify(c.err); got != c.want {
			t.Errorf("%s: class %d, want %d", name, got, c.want)
		}
	}
}

func TestAdvice(t *testing.T) {
	for want, err := range map[string]error{
		"names of buckets are unique in all of AWS":       answer("CreateBucket", "BucketAlreadyExists", ""),
		"the bucket is in another region":                 answer("GetBucketTagging", "PermanentRedirect", ""),
		"blocks public buckets":                           answer("PutBucketPolicy", "AccessDenied", "blocked by the BlockPublicPolicy setting"),
		"does not carry the tag of the cluster":           answer("DeleteVpc", "DependencyViolation", ""),
		"another resource still uses it":                  answer("DeleteSubnet", "DependencyViolation", ""),
		"raise it in Service Quotas":                      answer("CreateVpc", "VpcLimitExceeded", ""),
		"the zone is not in the region":                   answer("CreateSubnet", "InvalidParameterValue", "Value (us-east-1z) for parameter availabilityZone is invalid"),
		"another resource has the address":                answer("RunInstances", "InvalidIPAddress.InUse", ""),
		"another private zone of this name":               answer("CreateHostedZone", "ConflictingDomainExists", ""),
		"within an organization only":                     answer("CreateResourceShare", "OperationNotPermittedException", ""),
		"choose another infra ID, or delete the resource": &resourcegraph.NotOwnedError{},
	} {
		if got := Advice(err); !strings.Contains(got, want) {
			t.Errorf("%v: %q does not contain %q", err, got, want)
		}
		if after := Advice(&resourcegraph.GivenUpError{Err: err}); after != Advice(err) {
			t.Errorf("%v: after the last attempt the advice is %q", err, after)
		}
	}
}
