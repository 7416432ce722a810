package awsx

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
)

// A Location is an account in a region. A resource that is not found is gone only
// if it was looked up in the location where it was created.
type Location struct {
	Account string `json:"account"`
	Region  string `json:"region"`
}

func (l Location) String() string { return "account " + l.Account + ", region " + l.Region }

// LocationOf returns the location of the resource with that ARN.
func LocationOf(resource string) (Location, error) {
	a, err := arn.Parse(resource)
	if err != nil || a.AccountID == "" || a.Region == "" {
		return Location{}, fmt.Errorf("%q is not the ARN of a resource in an account and a region", resource)
	}
	return Location{Account: a.AccountID, Region: a.Region}, nil
}
