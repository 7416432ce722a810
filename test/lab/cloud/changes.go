package cloud

import (
	"context"
	"net/http"
	"strings"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// changes polls the call log of the emulator. Reading the calls since the last poll is one small request; reading the
// accounts is one for each resource in them.
type changes struct {
	aws  *awsemulator.Emulator
	next int
	// accounts are those that were called; nil if the caller does not need them.
	accounts map[string]bool
}

// any reports whether anything may have changed since the last poll.
func (c *changes) any(ctx context.Context) (bool, error) {
	calls, err := c.aws.CallsSince(ctx, c.next)
	if err != nil {
		return false, err
	}
	changed := false
	for _, call := range calls {
		c.next = call.Number + 1
		if !alters(call) {
			continue
		}
		changed = true
		if c.accounts != nil && call.Account != "" {
			c.accounts[call.Account] = true
		}
	}
	return changed, nil
}

// alters reports whether a call may have changed the traffic. An aborted call may have done so.
func alters(call awsemulator.Call) bool {
	switch call.Service {
	case "ec2", "elasticloadbalancing", "route53":
	default:
		return false
	}
	for _, reads := range []string{"Describe", "List", "Get"} {
		if strings.HasPrefix(call.Action, reads) {
			return false
		}
	}
	return call.Status < http.StatusBadRequest
}
