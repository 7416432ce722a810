package nlb_test

import (
	"testing"

	"github.com/hosted-control-planes/hypershift/internal/nlb"
)

func TestName(t *testing.T) {
	for name, c := range map[string]struct{ host, want string }{
		"the cloud controller names it by UID":            {"a0123456789abcdef0123456789abcde-fedcba9876543210.elb.us-east-1.amazonaws.com", "a0123456789abcdef0123456789abcde"},
		"the load balancer controller uses dashes":        {"k8s-clusters-privater-0a1b2c3d4e-fedcba9876543210.elb.eu-west-1.amazonaws.com", "k8s-clusters-privater-0a1b2c3d4e"},
		"China has a domain of its own":                   {"router-0123.elb.cn-north-1.amazonaws.com.cn", "router"},
		"a classic load balancer has no endpoint":         {"router-1234.us-east-1.elb.amazonaws.com", ""},
		"an address is not a name":                        {"203.0.113.7", ""},
		"a name without an id":                            {"router.elb.us-east-1.amazonaws.com", ""},
		"a name that is longer than AWS allows":           {"a0123456789abcdef0123456789abcdef0-01.elb.us-east-1.amazonaws.com", ""},
		"somebody else's domain that looks like Amazon's": {"router-0123.elb.us-east-1.amazonaws.com.example.org", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := nlb.Name(c.host)
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}
