package accountcheck

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"golang.org/x/sync/errgroup"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// Quota is a quota of an account, and its use.
type Quota struct {
	// Name is the limited resource, such as "VPCs". Where is the scope of the quota if it is not the region, such as a zone.
	Name, Where string
	// Needed is the number that another cluster needs.
	Needed      int
	Used, Limit int
	// Raise is where the quota is raised.
	Raise string
	// Err is why the other fields are not known.
	Err error
}

// Exhausted is true if another cluster does not fit.
func (q Quota) Exhausted() bool { return q.Err == nil && q.Used+q.Needed > q.Limit }

// Needs are a cluster's shares of quotas that depend on its size.
type Needs struct {
	// CPUs of its nodes, of the standard instance types. Addresses are elastic IP addresses, and NATs the NAT gateways in a zone.
	CPUs, Addresses, NATs int
}

// Usual is a cluster in three zones, with a node of two vCPUs in each.
var Usual = Needs{CPUs: 6, Addresses: 3, NATs: 1}

// use is the use of a quota, and its purpose.
type use struct {
	count int
	where string
}

// measure is a quota of Service Quotas, and how its use is counted.
type measure struct {
	name          string
	needed        func(Needs) int
	service, code string
	count         func(context.Context, account) (use, error)
}

// account holds the clients, and the VPC of a cluster.
type account struct {
	ec2 *ec2.Client
	elb *elbv2.Client
	iam *iam.Client
	vpc string
}

// measures are the quotas that a cluster needs. Their codes are the same in all regions and partitions.
var measures = []measure{
	{"VPCs", one, "vpc", "L-F678F1CE", countVPCs},
	{"Internet gateways", one, "vpc", "L-A4707A72", countInternetGateways},
	{"NAT gateways", func(n Needs) int { return n.NATs }, "vpc", "L-FE5A380F", countNATGateways},
	{"Interface endpoints", one, "vpc", "L-29B6F2EB", countEndpoints},
	{"vCPUs of on-demand instances of the families A, C, D, H, I, M, R, T and Z", func(n Needs) int { return n.CPUs }, "ec2", "L-1216C47A", countCPUs},
	{"Network load balancers", one, "elasticloadbalancing", "L-69A177A2", countNetworkLoadBalancers},
	{"OIDC providers", one, "iam", "L-858F3967", countProviders},
}

func one(Needs) int { return 1 }

// Quotas returns the quotas that a cluster needs, in a fixed order. vpc is the VPC of a cluster, or empty: the interface endpoints of the
// VPC with the most endpoints are counted then.
func Quotas(ctx context.Context, cfg aws.Config, vpc string, needs Needs) []Quota {
	a := account{ec2: awsx.EC2(cfg), elb: elbv2.NewFromConfig(cfg), iam: iam.NewFromConfig(cfg), vpc: vpc}
	regional, global := servicequotas.NewFromConfig(cfg), servicequotas.NewFromConfig(globalConfig(cfg))
	all := make([]Quota, len(measures))
	var zones Quota
	var identities []Quota
	var group errgroup.Group
	for i, m := range measures {
		group.Go(func() error {
			quotas := regional
			if m.service == "iam" {
				quotas = global
			}
			all[i] = m.quota(ctx, quotas, a, needs)
			return nil
		})
	}
	group.Go(func() error {
		zones = hostedZones(ctx, cfg)
		return nil
	})
	group.Go(func() error {
		identities = identityQuotas(ctx, a.iam)
		return nil
	})
	_ = group.Wait() // the errors are in the quotas
	return append(append(all, zones), identities...)
}

// globalConfig is for the quotas of IAM, which one region of each partition has.
func globalConfig(cfg aws.Config) aws.Config {
	global := cfg.Copy()
	switch {
	case len(cfg.Region) > 3 && cfg.Region[:3] == "cn-":
		global.Region = "cn-north-1"
	case len(cfg.Region) > 7 && cfg.Region[:7] == "us-gov-":
		global.Region = "us-gov-west-1"
	default:
		global.Region = "us-east-1"
	}
	return global
}

func (m measure) quota(ctx context.Context, api *servicequotas.Client, a account, needs Needs) Quota {
	q := Quota{Name: m.name, Needed: m.needed(needs), Raise: fmt.Sprintf("quota %s of service %s in Service Quotas", m.code, m.service)}
	if q.Limit, q.Err = m.limit(ctx, api); q.Err != nil {
		return q
	}
	var u use
	if u, q.Err = m.count(ctx, a); q.Err == nil {
		q.Used, q.Where = u.count, u.where
	}
	return q
}

func (m measure) limit(ctx context.Context, api *servicequotas.Client) (int, error) {
	answer, err := api.GetServiceQuota(ctx, &servicequotas.GetServiceQuotaInput{ServiceCode: aws.String(m.service), QuotaCode: aws.String(m.code)})
	if err == nil && answer.Quota != nil && answer.Quota.Value != nil {
		return int(*answer.Quota.Value), nil
	}
	if err != nil && !awsx.IsNotFound(err) {
		return 0, fmt.Errorf("reading the quota %s of %s: %w", m.code, m.service, err)
	}
	// An account has its own value of some quotas only after a request.
	standard, err := api.GetAWSDefaultServiceQuota(ctx, &servicequotas.GetAWSDefaultServiceQuotaInput{ServiceCode: aws.String(m.service), QuotaCode: aws.String(m.code)})
	if err != nil {
		return 0, fmt.Errorf("reading the default of the quota %s of %s: %w", m.code, m.service, err)
	}
	if standard.Quota == nil || standard.Quota.Value == nil {
		return 0, fmt.Errorf("the quota %s of %s has no value", m.code, m.service)
	}
	return int(*standard.Quota.Value), nil
}

func countVPCs(ctx context.Context, a account) (u use, _ error) {
	for pages := ec2.NewDescribeVpcsPaginator(a.ec2, &ec2.DescribeVpcsInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return use{}, fmt.Errorf("listing VPCs: %w", err)
		}
		u.count += len(page.Vpcs)
	}
	return u, nil
}

func countInternetGateways(ctx context.Context, a account) (u use, _ error) {
	for pages := ec2.NewDescribeInternetGatewaysPaginator(a.ec2, &ec2.DescribeInternetGatewaysInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return use{}, fmt.Errorf("listing internet gateways: %w", err)
		}
		u.count += len(page.InternetGateways)
	}
	return u, nil
}

// countNATGateways returns the zone with the most.
func countNATGateways(ctx context.Context, a account) (use, error) {
	var subnets []string
	states := types.Filter{Name: aws.String("state"), Values: []string{"pending", "available", "deleting"}}
	for pages := ec2.NewDescribeNatGatewaysPaginator(a.ec2, &ec2.DescribeNatGatewaysInput{Filter: []types.Filter{states}}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return use{}, fmt.Errorf("listing NAT gateways: %w", err)
		}
		for _, n := range page.NatGateways {
			subnets = append(subnets, aws.ToString(n.SubnetId))
		}
	}
	if len(subnets) == 0 {
		return use{}, nil
	}
	zoneOf := map[string]string{}
	for pages := ec2.NewDescribeSubnetsPaginator(a.ec2, &ec2.DescribeSubnetsInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return use{}, fmt.Errorf("listing subnets: %w", err)
		}
		for _, s := range page.Subnets {
			zoneOf[aws.ToString(s.SubnetId)] = aws.ToString(s.AvailabilityZone)
		}
	}
	counts := map[string]int{}
	for _, s := range subnets {
		counts[zoneOf[s]]++
	}
	return most(counts), nil
}

// most returns the place that uses the most.
func most(counts map[string]int) (u use) {
	for _, where := range slices.Sorted(maps.Keys(counts)) {
		if counts[where] > u.count {
			u = use{counts[where], where}
		}
	}
	return u
}

func countEndpoints(ctx context.Context, a account) (use, error) {
	counts := map[string]int{}
	filters := []types.Filter{{Name: aws.String("vpc-endpoint-type"), Values: []string{"Interface"}}}
	if a.vpc != "" {
		counts[a.vpc] = 0
		filters = append(filters, types.Filter{Name: aws.String("vpc-id"), Values: []string{a.vpc}})
	}
	for pages := ec2.NewDescribeVpcEndpointsPaginator(a.ec2, &ec2.DescribeVpcEndpointsInput{Filters: filters}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return use{}, fmt.Errorf("listing VPC endpoints: %w", err)
		}
		for _, e := range page.VpcEndpoints {
			counts[aws.ToString(e.VpcId)]++
		}
	}
	return most(counts), nil
}

// standard are the types of instances that the quota is for: inf, trn, dl, hpc, vt, p, g, u and x have others.
var standard = regexp.MustCompile(`^(a|c|d|h|i|im|is|m|r|t|z)[0-9]`)

func countCPUs(ctx context.Context, a account) (u use, _ error) {
	states := types.Filter{Name: aws.String("instance-state-name"), Values: []string{"pending", "running"}}
	for pages := ec2.NewDescribeInstancesPaginator(a.ec2, &ec2.DescribeInstancesInput{Filters: []types.Filter{states}}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return use{}, fmt.Errorf("listing instances: %w", err)
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				if i.InstanceLifecycle == "" && i.CpuOptions != nil && standard.MatchString(string(i.InstanceType)) {
					u.count += int(aws.ToInt32(i.CpuOptions.CoreCount) * aws.ToInt32(i.CpuOptions.ThreadsPerCore))
				}
			}
		}
	}
	return u, nil
}

func countNetworkLoadBalancers(ctx context.Context, a account) (u use, _ error) {
	for pages := elbv2.NewDescribeLoadBalancersPaginator(a.elb, &elbv2.DescribeLoadBalancersInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return use{}, fmt.Errorf("listing load balancers: %w", err)
		}
		for _, b := range page.LoadBalancers {
			if b.Type == elbtypes.LoadBalancerTypeEnumNetwork {
				u.count++
			}
		}
	}
	return u, nil
}

func countProviders(ctx context.Context, a account) (use, error) {
	all, err := a.iam.ListOpenIDConnectProviders(ctx, &iam.ListOpenIDConnectProvidersInput{})
	if err != nil {
		return use{}, fmt.Errorf("listing OIDC providers: %w", err)
	}
	return use{count: len(all.OpenIDConnectProviderList)}, nil
}

// hostedZones reads the count from Route 53, in the same call as the limit.
func hostedZones(ctx context.Context, cfg aws.Config) Quota {
	q := Quota{Name: "Hosted zones", Needed: 2, Raise: "quota L-4EA4796A of service route53 in Service Quotas"}
	answer, err := route53.NewFromConfig(cfg).GetAccountLimit(ctx, &route53.GetAccountLimitInput{Type: route53types.AccountLimitTypeMaxHostedZonesByOwner})
	switch {
	case err != nil:
		q.Err = fmt.Errorf("reading the quota of hosted zones: %w", err)
	case answer.Limit != nil:
		q.Used, q.Limit = int(answer.Count), int(aws.ToInt64(answer.Limit.Value))
	}
	return q
}

// identityQuotas reads the counts from IAM, in the same call as the limits.
func identityQuotas(ctx context.Context, api *iam.Client) []Quota {
	quotas := []Quota{
		{Name: "IAM roles", Needed: 10, Raise: "quota L-FE177D64 of service iam in Service Quotas"},
		{Name: "IAM instance profiles", Needed: 1, Raise: "quota L-6E65F664 of service iam in Service Quotas"},
	}
	answer, err := api.GetAccountSummary(ctx, &iam.GetAccountSummaryInput{})
	for i, key := range []string{"Roles", "InstanceProfiles"} {
		if err != nil {
			quotas[i].Err = fmt.Errorf("reading the quotas of IAM: %w", err)
			continue
		}
		quotas[i].Used, quotas[i].Limit = int(answer.SummaryMap[key]), int(answer.SummaryMap[key+"Quota"])
	}
	return quotas
}
