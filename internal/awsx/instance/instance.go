// Package instance reads EC2's data about an instance: which node it may be, and, if it does not become one, its state, its
// status checks and its console. It makes only reading calls.
package instance

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// API is the part of EC2 that Statuses and Console call.
type API interface {
	DescribeInstanceStatus(context.Context, *ec2.DescribeInstanceStatusInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceStatusOutput, error)
	GetConsoleOutput(context.Context, *ec2.GetConsoleOutputInput, ...func(*ec2.Options)) (*ec2.GetConsoleOutputOutput, error)
}

// Status is the state of an instance.
type Status struct {
	// State is pending, running, shutting-down, terminated, stopping or stopped.
	State string
	// SystemImpaired is true if the host of the instance is impaired, InstanceImpaired if the operating system does not
	// respond. EC2 checks both every minute, and for some minutes after the start it has no result.
	SystemImpaired, InstanceImpaired bool
}

// Running reports whether the instance runs.
func (s Status) Running() bool { return s.State == string(types.InstanceStateNameRunning) }

// Statuses returns the states of instances by id. An instance that EC2 does not know any more is missing.
func Statuses(ctx context.Context, api API, ids []string) (map[string]Status, error) {
	all, err := statuses(ctx, api, ids)
	if !awsx.IsNotFound(err) {
		return all, err
	}
	// One unknown id fails the call for all of them. EC2 forgets an instance an hour after its end.
	all = map[string]Status{}
	for _, id := range ids {
		one, err := statuses(ctx, api, []string{id})
		if err != nil && !awsx.IsNotFound(err) {
			return nil, err
		}
		maps.Copy(all, one)
	}
	return all, nil
}

func statuses(ctx context.Context, api API, ids []string) (map[string]Status, error) {
	all := map[string]Status{}
	pages := ec2.NewDescribeInstanceStatusPaginator(api, &ec2.DescribeInstanceStatusInput{
		IncludeAllInstances: aws.Bool(true), // also those that do not run
		InstanceIds:         ids,
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describing the status of instances: %w", err)
		}
		for _, i := range page.InstanceStatuses {
			s := Status{SystemImpaired: impaired(i.SystemStatus), InstanceImpaired: impaired(i.InstanceStatus)}
			if i.InstanceState != nil {
				s.State = string(i.InstanceState.Name)
			}
			all[aws.ToString(i.InstanceId)] = s
		}
	}
	return all, nil
}

func impaired(s *types.InstanceStatusSummary) bool {
	return s != nil && s.Status == types.SummaryStatusImpaired
}

// Console returns the last output of an instance on its console, at most 64 KiB. Instances on the Nitro hypervisor have the
// present output, others the output of their last start or stop.
func Console(ctx context.Context, api API, id string) ([]byte, error) {
	out, err := api.GetConsoleOutput(ctx, &ec2.GetConsoleOutputInput{InstanceId: aws.String(id), Latest: aws.Bool(true)})
	if awsx.Code(err) == "UnsupportedOperation" {
		out, err = api.GetConsoleOutput(ctx, &ec2.GetConsoleOutputInput{InstanceId: aws.String(id)})
	}
	if err != nil {
		return nil, fmt.Errorf("reading the console of instance %s: %w", id, err)
	}
	text, err := base64.StdEncoding.DecodeString(aws.ToString(out.Output))
	if err != nil {
		return nil, fmt.Errorf("decoding the console of instance %s: %w", id, err)
	}
	return text, nil
}
