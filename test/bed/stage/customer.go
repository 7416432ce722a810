package stage

import (
	"context"

	"github.com/hosted-control-planes/hypershift/test/bed/accounts"
)

// NewCustomer prepares a customer's account for a hosted cluster of that name. An empty account id means the one that the
// emulator has for a single customer.
func (s *Stage) NewCustomer(ctx context.Context, account, name, infraID string) (*accounts.Customer, error) {
	return accounts.NewCustomer(ctx, s.AWS, s.Management.Bucket, s.ReleaseImage, account, name, infraID)
}
