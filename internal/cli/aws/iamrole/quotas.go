package iamrole

import (
	"fmt"
	"slices"
	"strings"

	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// Quotas of IAM for a role, in characters. No account can raise the first one.
// Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
const (
	// MaxInline is for all inline policies of a role together.
	MaxInline = 10240
	// MaxTrust is for the trust policy. An account can raise it to 4,096.
	MaxTrust = 2048
)

// Size is the number of characters of a policy. IAM does not count white space.
func Size(policy string) int { return len(strings.Join(strings.Fields(policy), "")) }

// CheckSizes returns an error for each role of a graph if IAM would refuse its policies: the first policy that is too much for a role
// would fail after others have been written.
func CheckSizes(nodes []*rg.Node) (errs []error) {
	// Ids of resources that do not exist yet. Ids of Route 53 have at most 32 characters.
	ids := func(string) string { return strings.Repeat("x", 32) }
	names, inline := map[string]string{}, map[string]int{}
	var order []string
	for _, n := range nodes {
		switch n.Kind {
		case "Role":
			names[n.ID], order = n.Name, append(order, n.ID)
			if size := Size(n.Desired(ids)["trust-policy"]); size > MaxTrust {
				errs = append(errs, fmt.Errorf("the trust policy of role %s has %d characters, and IAM allows %d", n.Name, size, MaxTrust))
			}
		case "Policy":
			inline[n.DependsOn[0]] += Size(n.Desired(ids)["document"])
		}
	}
	slices.Sort(order)
	for _, id := range order {
		if inline[id] > MaxInline {
			errs = append(errs, fmt.Errorf("the inline policies of role %s have %d characters together, and IAM allows %d", names[id], inline[id], MaxInline))
		}
	}
	return errs
}
