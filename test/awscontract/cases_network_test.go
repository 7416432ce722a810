package awscontract

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func filter(name string, values ...string) []types.Filter {
	return []types.Filter{{Name: &name, Values: values}}
}

func tags(pairs ...string) []types.Tag {
	var out []types.Tag
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, types.Tag{Key: &pairs[i], Value: &pairs[i+1]})
	}
	return out
}

func spec(kind types.ResourceType, pairs ...string) []types.TagSpecification {
	return []types.TagSpecification{{ResourceType: kind, Tags: tags(pairs...)}}
}

var networkCases = []contract{
	{name: "a zone has another name in another account, and the same id", steps: func(r *run) {
		in := &ec2.DescribeAvailabilityZonesInput{}
		mine, err := r.provider.ec2.DescribeAvailabilityZones(r.ctx, in)
		r.ok("DescribeAvailabilityZones", err)
		theirs, err := r.consumer.ec2.DescribeAvailabilityZones(r.ctx, in)
		r.ok("DescribeAvailabilityZones", err)
		id := map[string]string{}
		ids := map[string]bool{}
		for _, z := range mine.AvailabilityZones {
			id[*z.ZoneName], ids[*z.ZoneId] = *z.ZoneId, true
		}
		differ := false
		for _, z := range theirs.AvailabilityZones {
			differ = differ || id[*z.ZoneName] != *z.ZoneId
			r.equal("the provider knows the zone "+*z.ZoneId, ids[*z.ZoneId], true)
		}
		r.equal("some name means another zone", differ, true)
	}},
	{name: "a subnet shows its VPC, its zone and the zone's id", steps: func(r *run) {
		out, err := r.consumer.ec2.DescribeSubnets(r.ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{r.a, r.b}})
		r.ok("DescribeSubnets", err)
		r.equal("subnets", len(out.Subnets), 2)
		for _, s := range out.Subnets {
			r.equal("VPC", aws.ToString(s.VpcId), r.vpc)
			r.equal("has zone and zone id", s.AvailabilityZone != nil && s.AvailabilityZoneId != nil, true)
		}
	}},
	{name: "one unknown id fails the whole description", steps: func(r *run) {
		_, err := r.consumer.ec2.DescribeSubnets(r.ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{r.a, "subnet-0123456789abcdef0"}})
		r.refused("DescribeSubnets", err, "InvalidSubnetID.NotFound")
		_, err = r.consumer.ec2.DescribeVpcs(r.ctx, &ec2.DescribeVpcsInput{VpcIds: []string{"vpc-0123456789abcdef0"}})
		r.refused("DescribeVpcs", err, "InvalidVpcID.NotFound")
	}},
	{name: "a filter that matches nothing gives an empty list", steps: func(r *run) {
		out, err := r.consumer.ec2.DescribeSubnets(r.ctx, &ec2.DescribeSubnetsInput{Filters: filter("vpc-id", "vpc-0123456789abcdef0")})
		r.ok("DescribeSubnets", err)
		r.equal("subnets", len(out.Subnets), 0)
	}},
	{name: "a filter that does not exist is refused", steps: func(r *run) {
		_, err := r.consumer.ec2.DescribeSubnets(r.ctx, &ec2.DescribeSubnetsInput{Filters: filter("no-such-filter", "x")})
		r.refused("DescribeSubnets", err, "InvalidParameterValue")
	}},
	{name: "tags are set, changed, found and taken away", steps: func(r *run) {
		find := func(value string) int {
			out, err := r.consumer.ec2.DescribeSubnets(r.ctx, &ec2.DescribeSubnetsInput{Filters: filter("tag:hypershift/contract", value)})
			r.ok("DescribeSubnets", err)
			return len(out.Subnets)
		}
		for _, value := range []string{"one", "two"} {
			_, err := r.consumer.ec2.CreateTags(r.ctx, &ec2.CreateTagsInput{Resources: []string{r.a}, Tags: tags("hypershift/contract", value)})
			r.ok("CreateTags", err)
			r.equal("found by "+value, find(value), 1)
		}
		r.equal("found by the old value", find("one"), 0)
		r.equal("found by a wildcard", find("tw*"), 1)
		// A tag given with a value goes only if it has that value.
		_, err := r.consumer.ec2.DeleteTags(r.ctx, &ec2.DeleteTagsInput{Resources: []string{r.a}, Tags: tags("hypershift/contract", "one")})
		r.ok("DeleteTags with another value", err)
		r.equal("found after DeleteTags with another value", find("two"), 1)
		_, err = r.consumer.ec2.DeleteTags(r.ctx, &ec2.DeleteTagsInput{Resources: []string{r.a}, Tags: []types.Tag{{Key: aws.String("hypershift/contract")}}})
		r.ok("DeleteTags", err)
		r.equal("found after DeleteTags", find("two"), 0)
	}},
	{name: "a tag that begins with aws: is refused", steps: func(r *run) {
		_, err := r.consumer.ec2.CreateTags(r.ctx, &ec2.CreateTagsInput{Resources: []string{r.a}, Tags: tags("aws:mine", "x")})
		r.refused("CreateTags", err, "InvalidParameterValue")
	}},
	{name: "a tag on what does not exist is refused", steps: func(r *run) {
		_, err := r.consumer.ec2.CreateTags(r.ctx, &ec2.CreateTagsInput{Resources: []string{"subnet-0123456789abcdef0"}, Tags: tags("a", "x")})
		r.refused("CreateTags", err, "InvalidSubnetID.NotFound", "InvalidID")
	}},
	{name: "a dry run is refused with DryRunOperation and changes nothing", steps: func(r *run) {
		_, err := r.consumer.ec2.CreateTags(r.ctx, &ec2.CreateTagsInput{DryRun: aws.Bool(true), Resources: []string{r.b}, Tags: tags("dry", "run")})
		r.refused("CreateTags", err, "DryRunOperation")
		out, err := r.consumer.ec2.DescribeSubnets(r.ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{r.b}})
		r.ok("DescribeSubnets", err)
		r.equal("the tag is there", slices.ContainsFunc(out.Subnets[0].Tags, func(t types.Tag) bool { return *t.Key == "dry" }), false)
	}},
}
