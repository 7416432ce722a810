package ec2util

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
)

// Refusal returns the first item of a batch that EC2 did not do, as an error of the call, or nil: the call as a whole was answered with
// success. operation is the name of the call, such as DeleteVpcEndpoints; awsx.Kind depends on it.
func Refusal(operation string, items []types.UnsuccessfulItem) error {
	if len(items) == 0 {
		return nil
	}
	item := items[0]
	if item.Error == nil {
		return fmt.Errorf("EC2 refused %s without a reason", aws.ToString(item.ResourceId))
	}
	return &smithy.OperationError{
		ServiceID: ec2.ServiceID, OperationName: operation,
		Err: &smithy.GenericAPIError{Code: aws.ToString(item.Error.Code), Message: aws.ToString(item.Error.Message)},
	}
}
