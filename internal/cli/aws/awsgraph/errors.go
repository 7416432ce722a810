package awsgraph

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// ExistsError reports that the resource of a creation exists already, for an error with another code.
type ExistsError struct{ Err error }

func (e *ExistsError) Error() string { return e.Err.Error() }
func (e *ExistsError) Unwrap() error { return e.Err }

// NotReadyError is an error of a creation before its call: AWS still prepares the call's inputs.
type NotReadyError struct{ Reason string }

func (e *NotReadyError) Error() string { return e.Reason }

// NotListedError is returned if AWS does not list something that exists: its lists are some seconds late.
type NotListedError struct{ What string }

func (e *NotListedError) Error() string { return "AWS does not list " + e.What }

// Classify returns the class of an error of AWS, which decides about the next attempt. Package awsx contains the table of codes.
func Classify(err error) resourcegraph.Class {
	var exists *ExistsError
	if errors.As(err, &exists) {
		return resourcegraph.Exists
	}
	var notReady *NotReadyError
	if errors.As(err, &notReady) {
		return resourcegraph.Throttled
	}
	var notListed *NotListedError
	if errors.As(err, &notListed) {
		return resourcegraph.Inconsistent
	}
	switch awsx.Kind(err) {
	case awsx.Throttled, awsx.Busy:
		return resourcegraph.Throttled
	case awsx.Transient:
		return resourcegraph.Unknown
	case awsx.NotReady:
		return resourcegraph.Inconsistent
	case awsx.Exists:
		return resourcegraph.Exists
	case awsx.NotFound:
		return resourcegraph.NotFound
	case awsx.InUse:
		return resourcegraph.InUse
	}
	return resourcegraph.Fatal
}

// operation is the name of the call that failed, or "".
func operation(err error) string {
	var op *smithy.OperationError
	if !errors.As(err, &op) {
		return ""
	}
	return op.Operation()
}

// Advice returns the remedy for an error of AWS, for a user, or "".
func Advice(err error) string {
	var foreign *resourcegraph.NotOwnedError
	if errors.As(err, &foreign) {
		return "choose another infra ID, or delete the resource if it is not needed"
	}
	switch {
	case awsx.IsExpiredLogin(err):
		return "the login has expired: run `aws sso login`"
	case awsx.IsWithoutCredentials(err):
		return "there are no AWS credentials: run `aws configure` or `aws sso login`, set AWS_PROFILE, or pass --sts-creds"
	}
	switch code := awsx.Code(err); {
	case code == "OptInRequired", code == "SubscriptionRequired":
		return "this service or region is not enabled for the account"
	case code == "InvalidParameterValue" && strings.Contains(err.Error(), "vailability"):
		return "the zone is not in the region: check --region and --zones"
	case code == "PermanentRedirect", code == "AuthorizationHeaderMalformed", code == "IllegalLocationConstraintException":
		return "the bucket is in another region: check --region"
	case strings.Contains(err.Error(), "BlockPublicPolicy"):
		return "the account or the organization blocks public buckets: allow them for this account, because AWS reads the documents without credentials"
	case code == "InvalidIPAddress.InUse":
		return "another resource has the address: delete it, or run the same command again if it is being deleted, it continues"
	case code == "ConflictingDomainExists":
		return "the VPC has another private zone of this name: delete it, or choose another --name or --base-domain-prefix"
	case code == "OperationNotPermittedException" && operation(err) == "CreateResourceShare":
		return "AWS shares subnets within an organization only: both accounts must be in one, and its management account must have enabled sharing with AWS Resource Access Manager"
	case code == "BucketAlreadyExists":
		return "names of buckets are unique in all of AWS, and another account has this one: choose another name"
	case code == "AuthFailure" && awsx.IsIdentity(err):
		return "the credentials are not valid in this region: check --region, and whether the region is enabled for the account"
	}
	switch awsx.Kind(err) {
	case awsx.Throttled:
		return "AWS limits the calls of this account; run the same command again, it continues"
	case awsx.Busy:
		return "AWS still carries out another change of this resource: run the same command again, it continues"
	case awsx.NotReady:
		return "a resource that the call needs is not ready yet: run the same command again, it continues"
	case awsx.Transient:
		return "AWS did not answer; check the network and the endpoint, then run the same command again, it continues"
	case awsx.Identity:
		return "AWS does not accept these credentials: check that they have not expired, and the trust policy of the role in --role-arn"
	case awsx.Denied:
		return "the credentials are valid, but may not make this call: add the permission"
	case awsx.InUse:
		if operation(err) == "DeleteVpc" {
			return "the VPC has something that the command does not delete, because it does not carry the tag of the cluster: delete it, then run the same command again, it continues"
		}
		return "another resource still uses it: run the same command again, it continues"
	case awsx.Limit:
		return "a quota of the account is exhausted: raise it in Service Quotas or delete what is not needed, then run the same command again, it continues"
	case awsx.Exists:
		return "a resource of this name exists: choose another name or infra ID"
	}
	return ""
}

// Explain adds the advice to the error. Of an error about missing credentials there is only the advice: the call that needed them does not
// matter.
func Explain(err error) error {
	if awsx.IsExpiredLogin(err) || awsx.IsWithoutCredentials(err) {
		return errors.New(Advice(err))
	}
	if advice := Advice(err); advice != "" {
		return fmt.Errorf("%w\n  %s", err, advice)
	}
	return err
}
