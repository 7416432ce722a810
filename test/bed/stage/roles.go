package stage

import (
	"context"
	"os"
	"path"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// operatorRole makes the role as which the hypershift-operator acts in the management account.
func (s *Stage) operatorRole(ctx context.Context) (role string, err error) {
	account := s.Management.Account
	err = s.AWS.Given(ctx, account, func() error {
		role, err = s.AWS.Role(ctx, account, Operator, awsemulator.TrustRole("arn:aws:iam::"+account+":root"))
		return err
	})
	if err != nil {
		return "", err
	}
	return role, s.permit(ctx, account, role, "hypershift-operator.json")
}

// permitCustomer gives the roles that a customer has made their policies.
func (s *Stage) permitCustomer(ctx context.Context, c *awsemulator.Customer) error {
	for role, file := range map[string]string{c.Role: "control-plane-operator.json", c.NodePoolRole: "node-pool-management.json"} {
		if err := s.permit(ctx, c.Account, role, file); err != nil {
			return err
		}
	}
	return nil
}

// permit gives a role a policy that we ship, and no other, so that a story fails if that lacks something.
func (s *Stage) permit(ctx context.Context, account, role, file string) error {
	policy, err := os.ReadFile(s.Path("config", "iam", file))
	if err != nil {
		return err
	}
	return s.AWS.Permit(ctx, account, path.Base(role), string(policy))
}
