package cloud

import (
	"context"
	"net/http"
	"strings"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// changes follows the log of calls. Reading what everybody has called since the last time is one small request; reading the
// accounts is one for each thing in them.
type changes struct {
	aws  *awsemulator.Emulator
	next int
	// accounts are those that have been called; nil if nobody wants to know.
	accounts map[string]bool
}

// any says whether anything may have changed since it was asked last.
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

// alters says whether a call may have changed something that has to do with traffic. One that was broken off may have.
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
