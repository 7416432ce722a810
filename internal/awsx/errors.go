package awsx

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials/ssocreds"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// ErrorKind classifies an error of AWS. It decides how soon the operator retries and which reason a condition has.
type ErrorKind string

// The kinds of errors. Their values are reasons of conditions. The operators' controllers and the command line's graph derive from the
// kind whether to make another attempt.
const (
	// None is no error.
	None ErrorKind = ""
	// Throttled: too many calls in this AWS account, so the state could not be determined.
	Throttled ErrorKind = "AWSThrottled"
	// Transient: AWS did not respond, or failed internally, so the state could not be determined.
	Transient ErrorKind = "AWSUnavailable"
	// Canceled: the operator canceled the call, usually because it stops.
	Canceled ErrorKind = "Canceled"
	// Identity: AWS does not accept the operator's identity. Check the role, its trust policy, the OIDC provider and the issuer's
	// documents.
	Identity ErrorKind = "AWSIdentityInvalid"
	// Denied: the role's policy does not allow the call. Add the permission in the message to the policy.
	Denied ErrorKind = "AWSAccessDenied"
	// Busy: AWS still carries out another change of the same resource, so this one was not made.
	Busy ErrorKind = "AWSBusy"
	// NotReady: a resource is not in the state that the call needs, maybe because it was just created or changed.
	NotReady ErrorKind = "AWSNotReady"
	// NotFound: the resource of the call does not exist. A deletion is complete.
	NotFound ErrorKind = "AWSNotFound"
	// DependencyNotFound: a deletion needs a resource that does not exist, and was not made. The message has its id.
	DependencyNotFound ErrorKind = "AWSDependencyNotFound"
	// Exists: the resource to create exists already.
	Exists ErrorKind = "AWSAlreadyExists"
	// InUse: another resource still uses the resource to delete.
	InUse ErrorKind = "AWSInUse"
	// Limit: a quota of the AWS account is exhausted. Raise the quota or delete unused resources.
	Limit ErrorKind = "AWSLimitExceeded"
	// Invalid: AWS refuses the parameters. Change the field of spec that the message names.
	Invalid ErrorKind = "AWSInvalid"
	// Other: AWS returned an error that the operator does not know.
	Other ErrorKind = "AWSError"
	// NotAWS: the error is not from AWS.
	NotAWS ErrorKind = "Error"
)

// kindOfCode lists the codes that the patterns in kindByPattern would get wrong.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
var kindOfCode = map[string]ErrorKind{
	"AccessDenied":                                    Denied,
	"AccessDeniedException":                           Denied,
	"UnauthorizedOperation":                           Denied,
	"Forbidden":                                       Denied,
	"AuthFailure":                                     Identity,
	"ExpiredToken":                                    Identity,
	"ExpiredTokenException":                           Identity,
	"IDPRejectedClaim":                                Identity,
	"InvalidAccessKeyId":                              Identity,
	"InvalidClientTokenId":                            Identity,
	"InvalidIdentityToken":                            Identity,
	"MissingAuthenticationToken":                      Identity,
	"RequestExpired":                                  Identity,
	"SignatureDoesNotMatch":                           Identity,
	"UnrecognizedClientException":                     Identity,
	"IDPCommunicationError":                           Transient,
	"InternalError":                                   Transient,
	"InternalFailure":                                 Transient,
	"InternalServerError":                             Transient,
	"RequestTimeout":                                  Transient,
	"RequestTimeoutException":                         Transient,
	"ServiceUnavailable":                              Transient,
	"Unavailable":                                     Transient,
	"ConcurrentModification":                          Busy, // IAM
	"IncorrectInstanceState":                          Busy, // an instance that stops cannot start for a minute or two
	"InvalidIPAddress.InUse":                          Busy, // an instance that is being terminated has its address for minutes
	"OperationAborted":                                Busy, // S3
	"PriorRequestNotComplete":                         Busy, // Route 53
	"Client.InvalidState":                             NotReady,
	"Gateway.NotAttached":                             NotReady,
	"IncorrectState":                                  NotReady,
	"DeleteConflict":                                  InUse,
	"DependencyViolation":                             InUse,
	"ExistingVpcEndpointConnections":                  InUse,
	"OperationNotPermitted":                           InUse,
	"ResourceInUse":                                   InUse,
	"BucketAlreadyExists":                             Exists,
	"BucketAlreadyOwnedByYou":                         Exists,
	"ConflictingDomainExists":                         Exists, // a VPC has one private zone of a name
	"InvalidSubnet.Conflict":                          Exists, // a network has one subnet
	"Resource.AlreadyAssociated":                      Exists,
	"ResourceShareInvitationAlreadyAcceptedException": Exists,
	"IdempotentParameterMismatch":                     Invalid,
	"MissingParameter":                                Invalid,
	"InvalidVPCId":                                    NotFound, // Route 53
	"NotFoundException":                               NotFound,
	"UnknownResourceException":                        NotFound,
	"ValidationError":                                 Invalid,
}

// Kind classifies err by the code of the innermost answer of AWS in it.
func Kind(err error) ErrorKind {
	if err == nil {
		return None
	}
	if errors.Is(err, context.Canceled) {
		return Canceled
	}
	op := innermost(err)
	var api smithy.APIError
	if errors.As(err, &api) {
		return kindOfAPIError(api, op, err)
	}
	if op == nil && errors.Is(err, context.DeadlineExceeded) {
		return Transient // a caller that shares a call of another one, and had no more time
	}
	if op == nil {
		return NotAWS
	}
	// A call without an answer of AWS: the connection broke, the deadline
	// passed, or a proxy answered something that is no AWS error.
	return Transient
}

func kindOfAPIError(api smithy.APIError, op *smithy.OperationError, err error) ErrorKind {
	code := api.ErrorCode()
	if _, throttle := retry.DefaultThrottleErrorCodes[code]; throttle {
		return Throttled
	}
	kind, exact := kindOfCode[code]
	if !exact {
		kind = kindByPattern(code)
	}
	switch service, operation := operationOf(op); {
	case kind == Denied && service == "STS" && strings.HasPrefix(operation, "AssumeRole"):
		return Identity // STS refuses a role before any service has seen the call
	case code == "AuthFailure" && operation == "ReleaseAddress":
		return InUse // until the NAT gateway that had the address is completely gone
	case kind == NotFound && !isAboutResource(operation, code):
		return DependencyNotFound
	case (kind == Denied || kind == Invalid) && isInconsistent(code, api.ErrorMessage()):
		return NotReady
	case kind == Other:
		return kindOfStatus(err)
	}
	return kind
}

func operationOf(op *smithy.OperationError) (service, operation string) {
	if op == nil {
		return "", ""
	}
	return op.Service(), op.Operation()
}

// codesOfDeletion lists, for the calls of EC2 that delete, the codes that are about the resource of the call.
var codesOfDeletion = map[string][]string{
	"DeleteDhcpOptions":                      {"InvalidDhcpOptionID.NotFound", "InvalidDhcpOptionsID.NotFound"},
	"DeleteInternetGateway":                  {"InvalidInternetGatewayID.NotFound"},
	"DeleteNatGateway":                       {"NatGatewayNotFound", "InvalidNatGatewayID.NotFound"},
	"DeleteRouteTable":                       {"InvalidRouteTableID.NotFound", "InvalidRouteTableId.NotFound"},
	"DeleteSecurityGroup":                    {"InvalidGroup.NotFound", "InvalidSecurityGroupID.NotFound"},
	"DeleteSubnet":                           {"InvalidSubnetID.NotFound"},
	"DeleteVpc":                              {"InvalidVpcID.NotFound"},
	"DeleteVpcEndpoints":                     {"InvalidVpcEndpoint.NotFound", "InvalidVpcEndpointId.NotFound"},
	"DeleteVpcEndpointServiceConfigurations": {"InvalidVpcEndpointService.NotFound", "InvalidVpcEndpointServiceId.NotFound"},
	"ReleaseAddress":                         {"InvalidAllocationID.NotFound"},
	"TerminateInstances":                     {"InvalidInstanceID.NotFound"},
}

// isAboutResource reports whether the call deletes the resource that does not exist. A deletion that misses another
// resource, such as the route of an endpoint, has failed.
func isAboutResource(operation, code string) bool {
	codes, listed := codesOfDeletion[operation]
	return !listed || slices.Contains(codes, code)
}

// isInconsistent recognizes refusals because a service does not see a change yet that another service accepted seconds ago.
func isInconsistent(code, message string) bool {
	switch code {
	case "MalformedPolicyDocument": // a role is not a valid principal yet
		return strings.Contains(message, "rincipal")
	case "InvalidParameterValue": // an instance profile, or its role. The messages write the name of the parameter in several ways.
		return strings.Contains(strings.ToLower(strings.ReplaceAll(message, " ", "")), "iaminstanceprofile")
	}
	return strings.Contains(message, "BlockPublicPolicy") // S3
}

func kindByPattern(code string) ErrorKind {
	switch {
	case strings.HasSuffix(code, "NotFound"), strings.HasPrefix(code, "NoSuch"):
		return NotFound
	case strings.HasSuffix(code, ".Duplicate"), strings.HasSuffix(code, "AlreadyExists"):
		return Exists
	case strings.HasSuffix(code, ".InUse"), strings.HasSuffix(code, "InUse"), strings.HasSuffix(code, "NotEmpty"):
		return InUse
	case strings.HasSuffix(code, "LimitExceeded"), strings.HasPrefix(code, "TooMany"):
		return Limit
	case strings.HasPrefix(code, "Invalid"), strings.HasPrefix(code, "Malformed"):
		return Invalid
	}
	return Other
}

// kindOfStatus classifies an answer without an error code by its HTTP status, such
// as the answers of S3 to HEAD, which have no body.
func kindOfStatus(err error) ErrorKind {
	var response *smithyhttp.ResponseError
	if !errors.As(err, &response) {
		return Other
	}
	switch status := response.HTTPStatusCode(); {
	case status == http.StatusForbidden:
		return Denied
	case status == http.StatusNotFound:
		return NotFound
	case status == http.StatusTooManyRequests:
		return Throttled
	case status >= http.StatusInternalServerError:
		return Transient
	}
	return Other
}

// innermost returns the last operation in the chain: when credentials cannot
// be had, the call to STS hides below the call that wanted them.
func innermost(err error) *smithy.OperationError {
	var found *smithy.OperationError
	for {
		var op *smithy.OperationError
		if !errors.As(err, &op) {
			return found
		}
		found, err = op, op.Unwrap()
	}
}

// IsThrottled is true for an error about too many calls.
func IsThrottled(err error) bool { return Kind(err) == Throttled }

// IsDenied is true if AWS accepts our identity and denies the call.
func IsDenied(err error) bool { return Kind(err) == Denied }

// IsIdentity is true if AWS does not accept our identity.
func IsIdentity(err error) bool { return Kind(err) == Identity }

// IsNotFound is true if the resource of the call does not exist.
func IsNotFound(err error) bool { return Kind(err) == NotFound }

// IsExists is true if the resource that the call would create exists already.
func IsExists(err error) bool { return Kind(err) == Exists }

// IsInUse is true if the resource that the call would delete is still in use.
func IsInUse(err error) bool { return Kind(err) == InUse }

// IsInvalid is true if AWS refuses the parameters.
func IsInvalid(err error) bool { return Kind(err) == Invalid }

// IsTransient is true for an error that leaves the state in AWS unknown: retry.
func IsTransient(err error) bool {
	switch Kind(err) {
	case Throttled, Transient, Busy, Canceled:
		return true
	}
	return false
}

// IsWithoutCredentials is true if no credentials were found: neither the environment nor a profile has any, and the metadata of an
// instance, which is the last place to look, has none.
func IsWithoutCredentials(err error) bool {
	op := innermost(err)
	return op != nil && op.Service() == "ec2imds"
}

// IsExpiredLogin is true if the session of IAM Identity Center (SSO), from which credentials are taken, has ended or was never begun.
func IsExpiredLogin(err error) bool {
	var token *ssocreds.InvalidTokenError
	if op := innermost(err); errors.As(err, &token) || op != nil && (op.Service() == "SSO" || op.Service() == "SSO OIDC") {
		return true
	}
	// Before the first login, there is no file with a token. The SDK has no type for it.
	return errors.Is(err, fs.ErrNotExist) && strings.Contains(err.Error(), "cached SSO token")
}

// Code returns the error code of AWS, or "".
func Code(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return ""
	}
	return api.ErrorCode()
}

// Reason returns a word for err that can be the reason of a condition.
func Reason(err error) string { return string(Kind(err)) }

// Message returns a sentence for a user: the operation, the call that failed
// and the answer of AWS. The same problem gives the same sentence: no request ids,
// no ports, no encoded authorization message.
func Message(err error) string {
	outer := outermost(err)
	if outer == nil {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	doing, _, _ := strings.Cut(err.Error(), outer.Error())
	inner := innermost(err)
	return doing + inner.Service() + " " + inner.Operation() + ": " + answer(err)
}

func outermost(err error) *smithy.OperationError {
	var op *smithy.OperationError
	errors.As(err, &op)
	return op
}

func answer(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		var silent *SilentError
		if errors.As(err, &silent) {
			return "no answer from " + silent.Host
		}
		return "no answer from AWS"
	}
	text, _, _ := strings.Cut(api.ErrorMessage(), "Encoded authorization failure message")
	text = strings.TrimRight(strings.TrimSpace(text), ".")
	if text == "" || text == api.ErrorCode() {
		return api.ErrorCode()
	}
	return api.ErrorCode() + ": " + text
}
