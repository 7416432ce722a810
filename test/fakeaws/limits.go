package fakeaws

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

// tokenKey identifies a bucket of tokens: all operations of Route 53 share one.
type tokenKey struct{ account, region, operation string }

// tokens holds the number of tokens that remained in a bucket when a request was last counted.
type tokens struct {
	left    float64
	counted time.Time
}

// LimitRequests throttles accounts as AWS does. It is not the default because most tests stop the clock, and then no bucket fills again.
func (c *Cloud) LimitRequests() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens = map[tokenKey]tokens{}
}

// takeToken takes a token for a request, or returns the refusal.
func (c *Cloud) takeToken(op *operation, q *request) error {
	rule, key := requestLimit(op), tokenKey{account: q.account.id, region: q.region.name, operation: op.name}
	if c.tokens == nil || rule == nil {
		return nil
	}
	if op.service == Route53 {
		key = tokenKey{account: q.account.id}
	}
	bucket, used := c.tokens[key]
	if !used {
		bucket = tokens{left: rule.Limit, counted: q.now}
	}
	bucket.left = min(rule.Limit, bucket.left+q.now.Sub(bucket.counted).Seconds()*rule.Refill)
	bucket.counted = q.now
	throttled := bucket.left < 1
	if !throttled {
		bucket.left--
	}
	c.tokens[key] = bucket
	if !throttled {
		return nil
	}
	status := http.StatusBadRequest
	if op.service == EC2 {
		status = http.StatusServiceUnavailable
	}
	return refused(status, rule.Code, rule.Text(op.name))
}

// requestLimit returns the rule that limits the requests of an operation, or nil.
func requestLimit(op *operation) *awsrules.Rule {
	switch op.service {
	case Route53:
		return awsrules.Get("route53-requests")
	case EC2:
	default:
		return nil
	}
	for _, rule := range awsrules.All {
		if rule.Service == EC2 && rule.Refill > 0 && slices.Contains(rule.Operations, op.name) {
			return rule
		}
	}
	if strings.HasPrefix(op.name, "Describe") {
		return awsrules.Get("ec2-requests-reading")
	}
	return awsrules.Get("ec2-requests-changing")
}
