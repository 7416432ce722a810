package fakeaws

import (
	"errors"
	"slices"
	"time"

	"github.com/aws/smithy-go"
)

// Call is one attempt of a call that reached the cloud.
type Call struct {
	Account, Role, Region string
	Service, Operation    string
	Write                 bool
	At                    time.Time
	Failed                string // the error's code, or its text if it has none; empty for success
}

// Action is the call as an IAM policy names it, e.g. ec2:CreateVpcEndpoint.
func (c Call) Action() string { return c.Service + ":" + c.Operation }

// IsWrite says whether the call can change something.
func (c Call) IsWrite() bool { return c.Write }

type recorded struct {
	cloud *Cloud
	index int
}

func (c *Cloud) record(op *operation, q *request, region string) recorded {
	c.calls = append(c.calls, Call{
		Account: q.identity.account, Role: q.role, Region: region,
		Service: op.service, Operation: op.name, Write: op.write, At: q.now,
	})
	return recorded{c, len(c.calls) - 1}
}

func (r recorded) failed(err error) error {
	if r.index < len(r.cloud.calls) {
		r.cloud.calls[r.index].Failed = codeOf(err)
	}
	return err
}

// codeOf is the code of an error of AWS, or its text.
func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return err.Error()
}

// Calls returns the calls since the last ForgetCalls, in order.
func (c *Cloud) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// ForgetCalls empties the record.
func (c *Cloud) ForgetCalls() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = nil
}

// Count returns how often each action was called.
func Count(calls []Call) map[string]int {
	n := map[string]int{}
	for _, c := range calls {
		n[c.Action()]++
	}
	return n
}

// By returns the calls of one role of one account.
func By(calls []Call, account, role string) []Call {
	return slices.DeleteFunc(slices.Clone(calls), func(c Call) bool { return c.Account != account || c.Role != role })
}
