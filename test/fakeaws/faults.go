package fakeaws

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/smithy-go"
)

// Kind is the kind of a fault.
type Kind int

// The faults.
const (
	Throttled   Kind = iota // refused, with each service's own code
	ServerError             // refused with an internal error; without effect
	Garbled                 // a page of HTML with status 500, as a proxy sends it
	Reset                   // the connection breaks before the call arrives
	AnswerLost              // the call is applied and the connection breaks before the answer
	Expired                 // the credentials have expired
	Denied                  // a policy does not allow the call
	Unreachable             // no answer until the caller's context ends
)

// Fault makes calls fail. Empty fields match everything.
type Fault struct {
	Service, Operation, Account, Role string

	Nth   int // the first call that is hit, counting matching calls from 1; 0 means 1
	Times int // how many calls are hit; 0 means one, Forever all
	Kind  Kind
}

// Forever is for Fault.Times.
const Forever = -1

type armed struct {
	Fault
	seen int
}

// Fault arms a fault and returns a function that disarms it.
func (c *Cloud) Fault(f Fault) (heal func()) {
	f.Nth, f.Times = max(f.Nth, 1), max(f.Times, Forever)
	if f.Times == 0 {
		f.Times = 1
	}
	a := &armed{Fault: f}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, a)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		a.Times, a.seen = 0, a.Nth
	}
}

// strike returns the fault that hits this call, if any.
func (c *Cloud) strike(op *operation, q *request) *Fault {
	var hit *Fault
	for _, f := range c.faults {
		if !f.matches(op, q) {
			continue
		}
		f.seen++
		if hit == nil && f.seen >= f.Nth && (f.Times == Forever || f.seen < f.Nth+f.Times) {
			hit = &f.Fault
		}
	}
	return hit
}

func (f *Fault) matches(op *operation, q *request) bool {
	for _, pair := range [][2]string{{f.Service, op.service}, {f.Operation, op.name}, {f.Account, q.identity.account}, {f.Role, q.role}} {
		if pair[0] != "" && pair[0] != pair[1] {
			return false
		}
	}
	return true
}

// refusal is the error of a fault that keeps the call from being applied.
func (k Kind) refusal(ctx context.Context, service string, q *request) error {
	switch k {
	case Reset:
		return connectionReset()
	case Unreachable:
		q.cloud.mu.Unlock()
		defer q.cloud.mu.Lock()
		<-ctx.Done()
		return ctx.Err()
	case Garbled:
		return q.cloud.respond(&refusal{status: http.StatusInternalServerError, cause: &smithy.DeserializationError{
			Err: errors.New("XML syntax error on line 1: element <br> closed by </body>"), Snapshot: []byte("<html><body><br></body></html>")}})
	}
	return q.cloud.respond(k.answer(service, q))
}

func (k Kind) answer(service string, q *request) error {
	switch k {
	case Throttled:
		return throttled(service)
	case ServerError:
		switch service {
		case EC2, S3:
			return refused(http.StatusInternalServerError, "InternalError", "We encountered an internal error. Please try again.")
		}
		return refused(http.StatusInternalServerError, "InternalFailure", "We encountered an internal error. Please try again.")
	case Expired:
		return expired(service)
	}
	if service == EC2 {
		return refused(http.StatusForbidden, "UnauthorizedOperation", "You are not authorized to perform this operation. User: "+q.arn+" is not authorized to perform: ec2:"+q.operation)
	}
	return refused(http.StatusForbidden, "AccessDenied", "User: "+q.arn+" is not authorized to perform: "+service+":"+q.operation)
}

func throttled(service string) error {
	switch service {
	case EC2:
		return refused(http.StatusServiceUnavailable, "RequestLimitExceeded", "Request limit exceeded.")
	case S3:
		return refused(http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate.")
	}
	return refused(http.StatusBadRequest, "Throttling", "Rate exceeded")
}

func expired(service string) error {
	switch service {
	case EC2:
		return refused(http.StatusBadRequest, "RequestExpired", "Request has expired.")
	case S3:
		return refused(http.StatusBadRequest, "ExpiredToken", "The provided token has expired.")
	}
	return refused(http.StatusForbidden, "ExpiredToken", "The security token included in the request is expired")
}
