package resolver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
)

// Account are the calls to one account.
type Account struct {
	Zones interface {
		ListHostedZones(context.Context, *route53.ListHostedZonesInput, ...func(*route53.Options)) (*route53.ListHostedZonesOutput, error)
		ListResourceRecordSets(context.Context, *route53.ListResourceRecordSetsInput, ...func(*route53.Options)) (*route53.ListResourceRecordSetsOutput, error)
	}
	Endpoints interface {
		DescribeVpcEndpoints(context.Context, *ec2.DescribeVpcEndpointsInput, ...func(*ec2.Options)) (*ec2.DescribeVpcEndpointsOutput, error)
		DescribeVpcEndpointServiceConfigurations(context.Context, *ec2.DescribeVpcEndpointServiceConfigurationsInput, ...func(*ec2.Options)) (*ec2.DescribeVpcEndpointServiceConfigurationsOutput, error)
	}
}

// amazon is the domain of the names that AWS assigns.
const amazon = "amazonaws.com"

// read collects the names of all accounts. settled is true unless resources are in transition.
func read(ctx context.Context, accounts []Account) (n *names, settled bool, err error) {
	n = &names{zones: []string{amazon}, aliases: map[string]string{}, addresses: map[string][]netip.Addr{}, endpoints: map[string]string{}}
	services, err := endpointServices(ctx, accounts)
	if err != nil {
		return nil, false, err
	}
	settled = true
	for _, account := range accounts {
		if err := n.addZones(ctx, account); err != nil {
			return nil, false, err
		}
		endpoints, err := account.Endpoints.DescribeVpcEndpoints(ctx, &ec2.DescribeVpcEndpointsInput{})
		if err != nil {
			return nil, false, fmt.Errorf("describing endpoints: %w", err)
		}
		for _, endpoint := range endpoints.VpcEndpoints {
			switch state := string(endpoint.State); { // AWS uses lower case, its SDK does not
			case strings.EqualFold(state, string(ec2types.StatePending)):
				settled = false
			case strings.EqualFold(state, string(ec2types.StateAvailable)):
				n.addEndpoint(endpoint, services[aws.ToString(endpoint.ServiceName)])
			}
		}
	}
	return n, settled, nil
}

// endpointServices returns the load balancer of each endpoint service. A service has one in each zone; one is enough here.
func endpointServices(ctx context.Context, accounts []Account) (map[string]string, error) {
	services := map[string]string{}
	for _, account := range accounts {
		described, err := account.Endpoints.DescribeVpcEndpointServiceConfigurations(ctx, &ec2.DescribeVpcEndpointServiceConfigurationsInput{})
		if err != nil {
			return nil, fmt.Errorf("describing endpoint services: %w", err)
		}
		for _, service := range described.ServiceConfigurations {
			if len(service.NetworkLoadBalancerArns) > 0 {
				services[aws.ToString(service.ServiceName)] = service.NetworkLoadBalancerArns[0]
			}
		}
	}
	return services, nil
}

func (n *names) addEndpoint(endpoint ec2types.VpcEndpoint, balancer string) {
	for _, entry := range endpoint.DnsEntries {
		if name := canonical(aws.ToString(entry.DnsName)); name != "" && balancer != "" {
			n.endpoints[name] = balancer
		}
	}
}

// addZones adds the records of the zones of an account. It merges zones of the same name in different VPCs.
func (n *names) addZones(ctx context.Context, account Account) error {
	zones, err := account.Zones.ListHostedZones(ctx, &route53.ListHostedZonesInput{})
	if err != nil {
		return fmt.Errorf("listing zones: %w", err)
	}
	for _, zone := range zones.HostedZones {
		records, err := account.Zones.ListResourceRecordSets(ctx, &route53.ListResourceRecordSetsInput{HostedZoneId: zone.Id})
		var gone *route53types.NoSuchHostedZone
		if errors.As(err, &gone) {
			continue // deleted after it was listed
		}
		if err != nil {
			return fmt.Errorf("listing the records of zone %s: %w", aws.ToString(zone.Name), err)
		}
		if name := canonical(aws.ToString(zone.Name)); !slices.Contains(n.zones, name) {
			n.zones = append(n.zones, name)
		}
		for _, record := range records.ResourceRecordSets {
			n.addRecord(record)
		}
	}
	return nil
}

func (n *names) addRecord(record route53types.ResourceRecordSet) {
	name := canonical(aws.ToString(record.Name))
	if record.AliasTarget != nil {
		n.aliases[name] = canonical(aws.ToString(record.AliasTarget.DNSName))
		return
	}
	for _, value := range record.ResourceRecords {
		switch value := aws.ToString(value.Value); record.Type {
		case route53types.RRTypeCname:
			n.aliases[name] = canonical(value)
		case route53types.RRTypeA:
			if address, err := netip.ParseAddr(value); err == nil {
				n.addresses[name] = append(n.addresses[name], address)
			}
		}
	}
}
