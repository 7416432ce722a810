package securitygroup

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Users returns the resources that prevent the deletion of a group, which the error of AWS does
// not name: network interfaces in it, and rules of other groups that refer to it.
func (m *Manager) Users(ctx context.Context, id string) ([]string, error) {
	var out []string
	interfaces := ec2.NewDescribeNetworkInterfacesPaginator(m.api, &ec2.DescribeNetworkInterfacesInput{Filters: of("group-id", id)})
	for interfaces.HasMorePages() {
		page, err := interfaces.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing network interfaces of security group %s: %w", id, err)
		}
		for _, i := range page.NetworkInterfaces {
			out = append(out, "network interface "+aws.ToString(i.NetworkInterfaceId)+quoted(i.Description))
		}
	}
	groups := ec2.NewDescribeSecurityGroupsPaginator(m.api, &ec2.DescribeSecurityGroupsInput{Filters: of("ip-permission.group-id", id)})
	for groups.HasMorePages() {
		page, err := groups.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing security groups that let in %s: %w", id, err)
		}
		for _, g := range page.SecurityGroups {
			if aws.ToString(g.GroupId) != id {
				out = append(out, "a rule of security group "+aws.ToString(g.GroupId)+quoted(g.GroupName))
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

func of(filter, value string) []types.Filter {
	return []types.Filter{{Name: &filter, Values: []string{value}}}
}

func quoted(text *string) string {
	if aws.ToString(text) == "" {
		return ""
	}
	return fmt.Sprintf(" %q", *text)
}
