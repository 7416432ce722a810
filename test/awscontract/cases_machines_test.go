package awscontract

import (
	"encoding/base64"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// launch is a case about a request for an instance: AWS refuses the first change, and takes the second one.
func launch(id string, wrong, right func(*run, *ec2.RunInstancesInput)) func(*run) {
	return func(r *run) {
		r.refusedBy(id, "RunInstances", r.start(func(in *ec2.RunInstancesInput) { wrong(r, in) }))
		if right != nil {
			r.ok("RunInstances", r.start(func(in *ec2.RunInstancesInput) { right(r, in) }))
		}
	}
}

func volume(ebs types.EbsBlockDevice) func(*run, *ec2.RunInstancesInput) {
	ebs.DeleteOnTermination = aws.Bool(true)
	return func(_ *run, in *ec2.RunInstancesInput) {
		in.BlockDeviceMappings = []types.BlockDeviceMapping{{DeviceName: aws.String("/dev/xvda"), Ebs: &ebs}}
	}
}

func interfaces(count int, group func(*run) string) func(*run, *ec2.RunInstancesInput) {
	return func(r *run, in *ec2.RunInstancesInput) {
		in.SubnetId = nil
		for i := range count {
			in.NetworkInterfaces = append(in.NetworkInterfaces, types.InstanceNetworkInterfaceSpecification{
				DeviceIndex: aws.Int32(int32(i)), SubnetId: &r.a, Groups: []string{group(r)}, DeleteOnTermination: aws.Bool(true)})
		}
	}
}

// inZone starts an instance in another subnet of the VPC.
func inZone(id string) func(*run, *ec2.RunInstancesInput) {
	return func(r *run, in *ec2.RunInstancesInput) {
		out, err := r.consumer.ec2.CreateSubnet(r.ctx, &ec2.CreateSubnetInput{VpcId: &r.vpc, CidrBlock: aws.String("10.0.240.0/24"), AvailabilityZoneId: &id})
		r.ok("CreateSubnet", err)
		r.later(func() {
			_, _ = r.consumer.ec2.DeleteSubnet(r.ctx, &ec2.DeleteSubnetInput{SubnetId: out.Subnet.SubnetId})
		})
		in.SubnetId, in.InstanceType = out.Subnet.SubnetId, types.InstanceTypeM5Large
	}
}

func (r *run) groupOfAnotherVPC() string {
	out, err := r.consumer.ec2.CreateSecurityGroup(r.ctx, &ec2.CreateSecurityGroupInput{GroupName: aws.String(r.unique("other")), Description: aws.String("contract"), VpcId: &r.other})
	r.ok("CreateSecurityGroup", err)
	r.later(func() {
		_, _ = r.consumer.ec2.DeleteSecurityGroup(r.ctx, &ec2.DeleteSecurityGroupInput{GroupId: out.GroupId})
	})
	return *out.GroupId
}

func userData(length int) func(*run, *ec2.RunInstancesInput) {
	return func(_ *run, in *ec2.RunInstancesInput) {
		in.UserData = aws.String(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("#", length))))
	}
}

var machineRules = map[string]func(*run){
	"user data has at most 16 KB before it is encoded":       launch("ec2-user-data", userData(16385), userData(16384)),
	"an instance starts only in a zone that offers its type": launch("ec2-instance-type-in-zone", inZone("use1-az3"), nil),
	"an instance has as many network interfaces as its type allows": launch("ec2-interfaces-per-instance",
		interfaces(3, func(r *run) string { return r.group() }), interfaces(2, func(r *run) string { return r.group() })),
	"the security groups of an instance belong to its VPC": func(r *run) {
		r.refusedBy("ec2-group-of-another-vpc", "by the instance", r.start(func(in *ec2.RunInstancesInput) { in.SecurityGroupIds = []string{r.groupOfAnotherVPC()} }))
		r.refusedBy("ec2-group-of-another-vpc", "by its interface", r.start(func(in *ec2.RunInstancesInput) { interfaces(1, (*run).groupOfAnotherVPC)(r, in) }))
	},
	"the root volume is at least as large as the image": launch("ec2-root-volume-size",
		volume(types.EbsBlockDevice{VolumeSize: aws.Int32(1)}), volume(types.EbsBlockDevice{VolumeSize: aws.Int32(8)})),
	"a gp3 volume has at most 500 IOPS for each GiB": launch("ec2-gp3-iops",
		volume(types.EbsBlockDevice{VolumeType: types.VolumeTypeGp3, VolumeSize: aws.Int32(10), Iops: aws.Int32(5001)}),
		volume(types.EbsBlockDevice{VolumeType: types.VolumeTypeGp3, VolumeSize: aws.Int32(10), Iops: aws.Int32(5000)})),
	"a gp3 volume has at most 0.25 MiB/s for each IOPS": launch("ec2-gp3-throughput",
		volume(types.EbsBlockDevice{VolumeType: types.VolumeTypeGp3, VolumeSize: aws.Int32(10), Throughput: aws.Int32(751)}),
		volume(types.EbsBlockDevice{VolumeType: types.VolumeTypeGp3, VolumeSize: aws.Int32(10), Throughput: aws.Int32(750)})),
	"an instance starts only in a placement group that exists": launch("ec2-placement-group",
		func(_ *run, in *ec2.RunInstancesInput) {
			in.Placement = &types.Placement{GroupName: aws.String("contract-nothing")}
		}, nil),
	"an instance starts only in a capacity reservation that exists": launch("ec2-capacity-reservation",
		func(_ *run, in *ec2.RunInstancesInput) {
			in.CapacityReservationSpecification = &types.CapacityReservationSpecification{
				CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: aws.String("cr-0123456789abcdef0")}}
		}, nil),
	"the hop limit of the metadata service is 1 to 64": launch("ec2-metadata-hop-limit",
		func(_ *run, in *ec2.RunInstancesInput) {
			in.MetadataOptions = &types.InstanceMetadataOptionsRequest{HttpPutResponseHopLimit: aws.Int32(65)}
		},
		func(_ *run, in *ec2.RunInstancesInput) {
			in.MetadataOptions = &types.InstanceMetadataOptionsRequest{HttpTokens: types.HttpTokensStateRequired, HttpPutResponseHopLimit: aws.Int32(64)}
		}),
}
