package fakeaws

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// refusal is an answer of AWS that is not a success.
type refusal struct {
	status int
	cause  error // a modelled error of the service, or a smithy.GenericAPIError
}

func (r *refusal) Error() string { return r.cause.Error() }
func (r *refusal) Unwrap() error { return r.cause }

// refused is a refusal with a code that the service's SDK has no type for.
func refused(status int, code, message string) error {
	fault := smithy.FaultClient
	if status >= 500 {
		fault = smithy.FaultServer
	}
	return &refusal{status: status, cause: &smithy.GenericAPIError{Code: code, Message: message, Fault: fault}}
}

// modelled is a refusal with the SDK's own type, which errors.As finds.
func modelled(status int, cause smithy.APIError) error {
	return &refusal{status: status, cause: cause}
}

// ec2Error is the usual shape of EC2, which models no errors at all.
func ec2Error(code, message string) error { return refused(http.StatusBadRequest, code, message) }

// respond wraps a refusal as the SDK does an HTTP response, request id included.
func (c *Cloud) respond(err error) error {
	var r *refusal
	if !errors.As(err, &r) {
		return err // a complaint of the fake about its caller
	}
	c.sequence++
	return &awshttp.ResponseError{
		RequestID: fmt.Sprintf("%08x-0000-4000-8000-%012x", c.sequence, c.sequence),
		ResponseError: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: r.status, Header: http.Header{}}},
			Err:      r.cause,
		},
	}
}

// connectionReset returns the SDK's error for a connection that broke before the answer.
func connectionReset() error {
	return &smithyhttp.RequestSendError{Err: &url.Error{Op: "Post", URL: "https://aws.invalid/", Err: &net.OpError{
		Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}}}
}
