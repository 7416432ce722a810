package instance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Machine is an instance of a cluster in any state.
type Machine struct {
	ID, Name, State, Type, Zone string
	Launched                    time.Time
	// Reason is why it is stopped or terminated.
	Reason string
}

// List returns all instances of the cluster, in any state, by their names. EC2 lists a terminated instance for an hour.
func List(ctx context.Context, api DescribeAPI, infraID string) (all []Machine, _ error) {
	pages := ec2.NewDescribeInstancesPaginator(api, &ec2.DescribeInstancesInput{Filters: []types.Filter{
		{Name: aws.String("tag:" + names.ClusterTag(infraID)), Values: []string{names.ClusterTagValue}},
	}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing the instances of %s: %w", infraID, err)
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				m := Machine{ID: aws.ToString(i.InstanceId), Type: string(i.InstanceType), Launched: aws.ToTime(i.LaunchTime), Reason: aws.ToString(i.StateTransitionReason)}
				if i.State != nil {
					m.State = string(i.State.Name)
				}
				if i.Placement != nil {
					m.Zone = aws.ToString(i.Placement.AvailabilityZone)
				}
				for _, t := range i.Tags {
					if aws.ToString(t.Key) == awsx.NameTag {
						m.Name = aws.ToString(t.Value)
					}
				}
				all = append(all, m)
			}
		}
	}
	slices.SortFunc(all, func(a, b Machine) int { return strings.Compare(a.Name+a.ID, b.Name+b.ID) })
	return all, nil
}
