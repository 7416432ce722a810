package fakeaws

import (
	"encoding/base64"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

var instanceKind = declare[*instance]("i", "instance", "InvalidInstanceID.NotFound")

func init() {
	register(EC2,
		read("DescribeInstanceStatus", (*request).describeInstanceStatus, "InstanceIds", "IncludeAllInstances", "MaxResults", "NextToken"),
		read("GetConsoleOutput", (*request).getConsoleOutput, "InstanceId", "Latest"),
	)
}

// Instance is a seed for SetInstance.
type Instance struct {
	ID string
	// State is the state in EC2; running if empty.
	State types.InstanceStateName
	// System and Status are the results of the status checks; ok if empty.
	System, Status types.SummaryStatus
	// Console is the instance's output. Old is true for an instance that does not have its present output.
	Console string
	Old     bool
	Tags    map[string]string
}

type instance struct {
	meta
	seed Instance
}

// SetInstance makes an instance, or changes it.
func (a *Account) SetInstance(region string, seed Instance) {
	c := a.cloud
	c.mu.Lock()
	defer c.mu.Unlock()
	all := instanceKind.in(a.region(region))
	all.remove(seed.ID)
	all.add(&instance{meta: c.newMeta("i", seed.ID, seed.Tags), seed: seed})
}

func (q *request) describeInstanceStatus(in *ec2.DescribeInstanceStatusInput) (*ec2.DescribeInstanceStatusOutput, error) {
	found, next, err := list(q, instanceKind.in(q.region), in.InstanceIds, nil, attributes[*instance]{}, page{in.MaxResults, in.NextToken, 5})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeInstanceStatusOutput{NextToken: next}
	for _, i := range found {
		state, system, status := i.seed.State, i.seed.System, i.seed.Status
		if state == "" {
			state = types.InstanceStateNameRunning
		}
		if state != types.InstanceStateNameRunning {
			if !aws.ToBool(in.IncludeAllInstances) {
				continue
			}
			system, status = types.SummaryStatusNotApplicable, types.SummaryStatusNotApplicable
		}
		summary := func(s types.SummaryStatus) *types.InstanceStatusSummary {
			if s == "" {
				s = types.SummaryStatusOk
			}
			return &types.InstanceStatusSummary{Status: s}
		}
		out.InstanceStatuses = append(out.InstanceStatuses, types.InstanceStatus{
			InstanceId: aws.String(i.id), InstanceState: &types.InstanceState{Name: state}, SystemStatus: summary(system), InstanceStatus: summary(status),
		})
	}
	return out, nil
}

// consoleLimit is how much of the output EC2 keeps.
const consoleLimit = 64 << 10

func (q *request) getConsoleOutput(in *ec2.GetConsoleOutputInput) (*ec2.GetConsoleOutputOutput, error) {
	i, err := instanceKind.in(q.region).find(q, aws.ToString(in.InstanceId))
	if err != nil {
		return nil, err
	}
	if i.seed.Old && aws.ToBool(in.Latest) {
		return nil, ec2Error("UnsupportedOperation", fmt.Sprintf("The instance type of %s does not support the latest console output", i.id))
	}
	text := i.seed.Console
	text = text[max(0, len(text)-consoleLimit):]
	out := &ec2.GetConsoleOutputOutput{InstanceId: aws.String(i.id), Timestamp: aws.Time(q.now)}
	if text != "" {
		out.Output = aws.String(base64.StdEncoding.EncodeToString([]byte(text)))
	}
	return out, nil
}
