package infra

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// discoverBalancers finds load balancers and target groups in the VPCs.
func (c *Cloud) discoverBalancers(ctx context.Context, vpcs []string) (all []found, rest []Remaining, _ error) {
	var balancers []elbv2types.LoadBalancer
	for pages := elbv2.NewDescribeLoadBalancersPaginator(c.elb, &elbv2.DescribeLoadBalancersInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("listing load balancers: %w", err)
		}
		for _, b := range page.LoadBalancers {
			if slices.Contains(vpcs, aws.ToString(b.VpcId)) {
				balancers = append(balancers, b)
			}
		}
	}
	var groups []elbv2types.TargetGroup
	for pages := elbv2.NewDescribeTargetGroupsPaginator(c.elb, &elbv2.DescribeTargetGroupsInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("listing target groups: %w", err)
		}
		for _, g := range page.TargetGroups {
			if slices.Contains(vpcs, aws.ToString(g.VpcId)) {
				groups = append(groups, g)
			}
		}
	}
	var arns []string
	for _, b := range balancers {
		arns = append(arns, aws.ToString(b.LoadBalancerArn))
	}
	for _, g := range groups {
		arns = append(arns, aws.ToString(g.TargetGroupArn))
	}
	owned := map[string]bool{}
	for some := range slices.Chunk(arns, 20) { // the most that DescribeTags accepts
		answer, err := c.elb.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: some})
		if err != nil {
			return nil, nil, fmt.Errorf("reading the tags of load balancers: %w", err)
		}
		for _, d := range answer.TagDescriptions {
			tags := awsx.Tags{}
			for _, t := range d.Tags {
				tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
			}
			owned[aws.ToString(d.ResourceArn)] = c.owner.Owns(tags)
		}
	}
	for _, b := range balancers {
		arn := aws.ToString(b.LoadBalancerArn)
		if !owned[arn] {
			rest = append(rest, Remaining{"Load balancer", aws.ToString(b.LoadBalancerName), "it is in the VPC without the tag of the cluster, and blocks the deletion of its subnets"})
			continue
		}
		all = append(all, found{kind: "load-balancer", id: arn, name: aws.ToString(b.LoadBalancerName), delete: func(ctx context.Context) error {
			_, err := c.elbWriter.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: aws.String(arn)})
			return err
		}})
	}
	for _, g := range groups {
		if arn := aws.ToString(g.TargetGroupArn); owned[arn] {
			all = append(all, found{kind: "target-group", id: arn, name: aws.ToString(g.TargetGroupName), delete: func(ctx context.Context) error {
				_, err := c.elbWriter.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: aws.String(arn)})
				return err
			}})
		}
	}
	return all, rest, nil
}
