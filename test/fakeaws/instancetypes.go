package fakeaws

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func init() {
	register(EC2,
		read("DescribeInstanceTypes", (*request).describeInstanceTypes, "Filters"),
	)
}

// instanceTypes are in every region; others are unknown.
var instanceTypes = []types.InstanceTypeInfo{
	instanceType("m6i.large", types.ArchitectureTypeX8664, 2, 8192),
	instanceType("m6i.xlarge", types.ArchitectureTypeX8664, 4, 16384),
	instanceType("m6g.large", types.ArchitectureTypeArm64, 2, 8192),
}

func instanceType(name types.InstanceType, arch types.ArchitectureType, processors int32, memory int64) types.InstanceTypeInfo {
	return types.InstanceTypeInfo{
		InstanceType:  name,
		ProcessorInfo: &types.ProcessorInfo{SupportedArchitectures: []types.ArchitectureType{arch}},
		VCpuInfo:      &types.VCpuInfo{DefaultVCpus: aws.Int32(processors)},
		MemoryInfo:    &types.MemoryInfo{SizeInMiB: aws.Int64(memory)},
	}
}

func (q *request) describeInstanceTypes(in *ec2.DescribeInstanceTypesInput) (*ec2.DescribeInstanceTypesOutput, error) {
	out := &ec2.DescribeInstanceTypesOutput{InstanceTypes: slices.Clone(instanceTypes)}
	for _, f := range in.Filters {
		if aws.ToString(f.Name) != "instance-type" {
			q.misuse("%s: filter %q is not instance-type", q.operation, aws.ToString(f.Name))
			return nil, ec2Error("InvalidParameterValue", "The filter '"+aws.ToString(f.Name)+"' is invalid")
		}
		out.InstanceTypes = slices.DeleteFunc(out.InstanceTypes, func(it types.InstanceTypeInfo) bool {
			return !slices.Contains(f.Values, string(it.InstanceType))
		})
	}
	return out, nil
}
