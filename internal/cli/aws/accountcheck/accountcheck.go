// Package accountcheck reads the quotas, permissions and images that a cluster needs, before it is created in an account.
package accountcheck

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// addressQuota is the attribute of an account with the number of addresses that it may have.
const addressQuota = types.AccountAttributeName("vpc-max-elastic-ips")

// Addresses returns how many elastic IP addresses are in use, and the quota; 0 if EC2 does not report it.
func Addresses(ctx context.Context, cfg aws.Config) (used, quota int, _ error) {
	api := awsx.EC2(cfg)
	addresses, err := api.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{})
	if err != nil {
		return 0, 0, fmt.Errorf("listing elastic IP addresses: %w", err)
	}
	attributes, err := api.DescribeAccountAttributes(ctx, &ec2.DescribeAccountAttributesInput{AttributeNames: []types.AccountAttributeName{addressQuota}})
	if err != nil {
		return 0, 0, fmt.Errorf("reading the quota of elastic IP addresses: %w", err)
	}
	for _, a := range attributes.AccountAttributes {
		if aws.ToString(a.AttributeName) != string(addressQuota) {
			continue
		}
		for _, v := range a.AttributeValues {
			quota, _ = strconv.Atoi(aws.ToString(v.AttributeValue)) // 0 means that it is not known
		}
	}
	return len(addresses.Addresses), quota, nil
}

// Zone returns the problems of a hosted zone: it must exist, be private or not, and have a name at which domain ends or which ends at
// domain.
func Zone(ctx context.Context, cfg aws.Config, id, domain string, private bool) error {
	zone, err := route53.NewFromConfig(cfg).GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: aws.String(id)})
	if awsx.IsNotFound(err) {
		return errors.New("the hosted zone does not exist in this account")
	}
	if err != nil {
		return fmt.Errorf("reading hosted zone %s: %w", id, err)
	}
	name := strings.TrimSuffix(aws.ToString(zone.HostedZone.Name), ".")
	isPrivate := zone.HostedZone.Config != nil && zone.HostedZone.Config.PrivateZone
	switch {
	case isPrivate != private && private:
		return fmt.Errorf("hosted zone %s is public", name)
	case isPrivate != private:
		return fmt.Errorf("hosted zone %s is private", name)
	case name != domain && !strings.HasSuffix(domain, "."+name) && !strings.HasSuffix(name, "."+domain):
		return fmt.Errorf("hosted zone %s is not of the domain %s", name, domain)
	}
	return nil
}
