// Package place says in which account and region of AWS a thing is, and where
// we are ourselves. An answer that something is not there means that it is gone
// only if we ask in the place where it was made.
package place

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/hosted-control-planes/hypershift/internal/sharedcall"
)

// API is the part of STS that this package uses. It needs no permission.
type API interface {
	GetCallerIdentity(context.Context, *sts.GetCallerIdentityInput, ...func(*sts.Options)) (*sts.GetCallerIdentityOutput, error)
}

// A Place is an account in a region.
type Place struct {
	Account string `json:"account"`
	Region  string `json:"region"`
}

func (p Place) String() string { return "account " + p.Account + ", region " + p.Region }

// Of returns where the resource with that ARN is.
func Of(resource string) (Place, error) {
	a, err := arn.Parse(resource)
	if err != nil || a.AccountID == "" || a.Region == "" {
		return Place{}, fmt.Errorf("%q is not the ARN of a resource in an account and a region", resource)
	}
	return Place{Account: a.AccountID, Region: a.Region}, nil
}

// Ours is where the calls of a process go.
type Ours struct {
	api    API
	region string
	calls  sharedcall.Group[string]

	mu      sync.Mutex
	account string // "" until it was asked for
}

// New returns the place of the one who calls api, and calls the other APIs in region.
func New(api API, region string) *Ours { return &Ours{api: api, region: region} }

// Get returns the place. The account is asked for once: a process gets its
// credentials when it starts.
func (o *Ours) Get(ctx context.Context) (Place, error) {
	o.mu.Lock()
	account := o.account
	o.mu.Unlock()
	if account == "" {
		var err error
		if account, err = o.calls.Do(ctx, "", o.ask); err != nil {
			return Place{}, fmt.Errorf("asking in which account we are: %w", err)
		}
	}
	return Place{Account: account, Region: o.region}, nil
}

func (o *Ours) ask(ctx context.Context) (string, error) {
	who, err := o.api.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.account = aws.ToString(who.Account)
	return o.account, nil
}
