package complaint

import "testing"

func TestStable(t *testing.T) {
	for name, tc := range map[string]struct{ message, want string }{
		"a request id goes": {
			"operation error ELB: CreateLoadBalancer, https response error StatusCode: 400, RequestID: 1-2-3, TooManyLoadBalancers",
			"operation error ELB: CreateLoadBalancer, https response error StatusCode: 400, TooManyLoadBalancers",
		},
		"the encoded text of a refusal goes": {
			"UnauthorizedOperation: You are not authorized to perform this operation. Encoded authorization failure message: q8xN-_3",
			"UnauthorizedOperation: You are not authorized to perform this operation.",
		},
		"what says the same each time stays": {"no subnets found", "no subnets found"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := stable(tc.message); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
