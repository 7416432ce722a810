package awsgraph

import (
	"testing"

	"github.com/aws/smithy-go"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// TestRefusalsThatOthersRepeat lists the errors of AWS for which other projects repeat a call, because they have met them: a class that
// ends the command, or a kind that blames the user, would be wrong. The files are of hashicorp/terraform-provider-aws (internal/service),
// kubernetes-sigs/cluster-api-provider-aws (pkg/cloud) and aws/aws-sdk-go-v2.
func TestRefusalsThatOthersRepeat(t *testing.T) {
	const (
		createdNow = resourcegraph.NotFound     // repeated for a while after a creation
		changedNow = resourcegraph.Inconsistent // repeated for a while
		busy       = resourcegraph.Throttled    // repeated until there is no more time
		inUse      = resourcegraph.InUse        // a deletion that is repeated
	)
	for _, c := range []struct {
		service, call, code, message string
		class                        resourcegraph.Class
		kind                         awsx.ErrorKind
		source                       string
	}{
		{"EC2", "RunInstances", "InvalidParameterValue", "Value (a) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", changedNow, awsx.NotReady, "ec2/ec2_instance.go"},
		{"EC2", "RunInstances", "InvalidParameterValue", "Value (a) for parameter iamInstanceProfile.arn is invalid. Invalid IAM Instance Profile ARN", changedNow, awsx.NotReady, "ec2/ec2_instance.go"},
		{"EC2", "RunInstances", "InvalidParameterValue", `IAM Instance Profile "arn:aws:iam::1:instance-profile/a" has no associated IAM Roles`, changedNow, awsx.NotReady, "ec2/ec2_instance.go"},
		{"EC2", "AttachInternetGateway", "InvalidInternetGatewayID.NotFound", "", createdNow, awsx.NotFound, "ec2/vpc_internet_gateway.go"},
		{"EC2", "DetachInternetGateway", "DependencyViolation", "Network vpc-1 has some mapped public address(es). Please unmap those public address(es) before detaching the gateway.", inUse, awsx.InUse, "ec2/vpc_internet_gateway.go"},
		{"EC2", "DeleteInternetGateway", "DependencyViolation", "", inUse, awsx.InUse, "ec2/vpc_internet_gateway.go"},
		{"EC2", "AssociateRouteTable", "InvalidRouteTableID.NotFound", "", createdNow, awsx.NotFound, "ec2/vpc_route_table_association.go"},
		{"EC2", "CreateRoute", "InvalidRouteTableID.NotFound", "", createdNow, awsx.NotFound, "services/network/routetables.go"},
		{"EC2", "CreateRoute", "InvalidNatGatewayID.NotFound", "", createdNow, awsx.NotFound, "services/network/routetables.go"},
		{"EC2", "CreateTags", "InvalidVpcID.NotFound", "", createdNow, awsx.NotFound, "services/network/vpc.go"},
		{"EC2", "CreateTags", "InvalidSubnetID.NotFound", "", createdNow, awsx.NotFound, "services/network/subnets.go"},
		{"EC2", "ModifySubnetAttribute", "InvalidSubnetID.NotFound", "", createdNow, awsx.NotFound, "services/network/subnets.go"},
		{"EC2", "ModifyVpcAttribute", "InvalidVpcID.NotFound", "", createdNow, awsx.NotFound, "services/network/vpc.go"},
		{"EC2", "CreateNatGateway", "InvalidSubnetID.NotFound", "", createdNow, awsx.NotFound, "services/network/natgateways.go"},
		{"EC2", "CreateNatGateway", "InvalidAllocationID.NotFound", "", createdNow, awsx.NotFound, "ec2/vpc_nat_gateway.go"},
		{"EC2", "AuthorizeSecurityGroupIngress", "InvalidGroup.NotFound", "", createdNow, awsx.NotFound, "services/securitygroup/securitygroups.go"},
		{"EC2", "ReleaseAddress", "AuthFailure", "You do not have permission to access the specified resource.", inUse, awsx.InUse, "services/network/eips.go"},
		{"EC2", "ReleaseAddress", "InvalidIPAddress.InUse", "", busy, awsx.Busy, "services/network/eips.go"},
		{"EC2", "DeleteSubnet", "DependencyViolation", "", inUse, awsx.InUse, "ec2/vpc_subnet.go"},
		{"EC2", "DeleteSecurityGroup", "DependencyViolation", "", inUse, awsx.InUse, "ec2/vpc_security_group.go"},
		{"EC2", "DeleteSecurityGroup", "InvalidGroup.InUse", "", inUse, awsx.InUse, "ec2/vpc_security_group.go"},
		{"EC2", "DeleteVpc", "DependencyViolation", "", inUse, awsx.InUse, "ec2/vpc_.go"},
		{"EC2", "CreateVpcEndpoint", "Unavailable", "The service is unavailable", resourcegraph.Unknown, awsx.Transient, "aws-sdk-go-v2#2870"},
		{"IAM", "CreateRole", "MalformedPolicyDocument", `Invalid principal in policy: "AWS":"arn:aws:iam::1:role/a"`, changedNow, awsx.NotReady, "iam/role.go"},
		{"IAM", "UpdateAssumeRolePolicy", "MalformedPolicyDocument", `Invalid principal in policy: "AWS":"AROAEXAMPLE"`, changedNow, awsx.NotReady, "iam/role.go"},
		{"IAM", "PutRolePolicy", "NoSuchEntity", "The role with name a cannot be found.", createdNow, awsx.NotFound, "iam/role_policy.go"},
		{"IAM", "AddRoleToInstanceProfile", "NoSuchEntity", "", createdNow, awsx.NotFound, "iam/instance_profile.go"},
		{"IAM", "TagRole", "ConcurrentModification", "", busy, awsx.Busy, "iam/role.go"},
		{"IAM", "DeleteRole", "DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.", inUse, awsx.InUse, "iam/role.go"},
		{"Route 53", "ChangeResourceRecordSets", "PriorRequestNotComplete", "", busy, awsx.Throttled, "route53/record.go"},
		{"Route 53", "ChangeResourceRecordSets", "NoSuchHostedZone", "", createdNow, awsx.NotFound, "route53/record.go"},
		{"Route 53", "ChangeResourceRecordSets", "Throttling", "Rate exceeded", busy, awsx.Throttled, "route53/record.go"},
		{"Route 53", "DeleteHostedZone", "HostedZoneNotEmpty", "", inUse, awsx.InUse, "route53/zone.go"},
		{"S3", "CreateBucket", "OperationAborted", "A conflicting conditional operation is currently in progress against this resource. Please try again.", busy, awsx.Busy, "s3/bucket.go"},
		{"S3", "PutPublicAccessBlock", "NoSuchBucket", "", createdNow, awsx.NotFound, "s3/bucket_public_access_block.go"},
		{"S3", "PutPublicAccessBlock", "OperationAborted", "A conflicting conditional operation is currently in progress against this resource. Please try again.", busy, awsx.Busy, "s3/bucket_public_access_block.go"},
		{"S3", "PutBucketPolicy", "NoSuchBucket", "", createdNow, awsx.NotFound, "s3/bucket_policy.go"},
		{"S3", "PutBucketPolicy", "OperationAborted", "A conflicting conditional operation is currently in progress against this resource. Please try again.", busy, awsx.Busy, "s3/bucket_policy.go"},
		{"S3", "PutObject", "SlowDown", "Please reduce your request rate.", busy, awsx.Throttled, "aws/retry/standard.go"},
		{"EC2", "DescribeVpcs", "RequestLimitExceeded", "Request limit exceeded.", busy, awsx.Throttled, "aws/retry/standard.go"},
		{"Elastic Load Balancing v2", "DeleteTargetGroup", "ResourceInUse", "", inUse, awsx.InUse, "elbv2/target_group.go"},
		{"STS", "AssumeRoleWithWebIdentity", "IDPCommunicationError", "", resourcegraph.Unknown, awsx.Transient, "aws/retry/standard.go"},
	} {
		err := &smithy.OperationError{ServiceID: c.service, OperationName: c.call, Err: &smithy.GenericAPIError{Code: c.code, Message: c.message}}
		if got := Classify(err); got != c.class {
			t.Errorf("%s: %s of %s %q: class %d, want %d", c.source, c.code, c.call, c.message, got, c.class)
		}
		if got := awsx.Kind(err); got != c.kind {
			t.Errorf("%s: %s of %s %q: kind %q, want %q", c.source, c.code, c.call, c.message, got, c.kind)
		}
	}
}
