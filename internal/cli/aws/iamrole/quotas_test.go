package iamrole

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// IAM counts all inline policies of a role together, each trust policy alone, and no white space.
func TestPoliciesThatIAMWouldRefuseAreErrors(t *testing.T) {
	c := New(aws.Config{}, awsgraph.Owner{InfraID: "demo"})
	document := func(size int) string {
		text := Document(map[string]any{"Effect": "Allow", "Action": "s3:GetObject", "Resource": ""})
		return strings.Replace(text, `"Resource":""`, `"Resource":"`+strings.Repeat("a", size-len(text))+`"`, 1)
	}
	role := func(name string, trust int, policies ...int) (nodes []*rg.Node) {
		nodes = append(nodes, c.Role(Role{ID: "role/" + name, Name: name, Trust: document(trust)}))
		for i, size := range policies {
			nodes = append(nodes, c.Policy(Policy{ID: fmt.Sprintf("policy/%s/%d", name, i), RoleID: "role/" + name, Document: func(rg.IDs) (string, error) { return document(size), nil }}))
		}
		return nodes
	}
	for name, test := range map[string]struct {
		nodes []*rg.Node
		want  string
	}{
		"the quotas themselves":                         {role("a", MaxTrust, 5000, MaxInline-5000), "[]"},
		"two policies of one role":                      {role("a", 200, 5000, MaxInline-4999), "[the inline policies of role a have 10241 characters together, and IAM allows 10240]"},
		"two roles with as much as one may have":        {append(role("a", 200, MaxInline), role("b", 200, MaxInline)...), "[]"},
		"a trust policy":                                {role("a", MaxTrust+1), "[the trust policy of role a has 2049 characters, and IAM allows 2048]"},
		"a policy with an id that is not known yet":     {withID(c, MaxInline-32), "[]"},
		"a policy with a long id that is not known yet": {withID(c, MaxInline-31), "[the inline policies of role a have 10241 characters together, and IAM allows 10240]"},
	} {
		if got := fmt.Sprint(CheckSizes(test.nodes)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	if got := Size("{ \"a\":\n\t1 }"); got != 7 {
		t.Errorf("white space is counted: %d", got)
	}
}

func withID(c *Client, rest int) []*rg.Node {
	return []*rg.Node{
		c.Role(Role{ID: "role/a", Name: "a"}),
		c.Policy(Policy{ID: "policy/a", RoleID: "role/a", Document: func(ids rg.IDs) (string, error) { return ids("vpc") + strings.Repeat("a", rest), nil }}),
	}
}
