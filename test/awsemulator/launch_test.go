package awsemulator_test

import (
	"bytes"
	"encoding/base64"
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// launch is a request as the machine controllers write it.
func launch(subnet, group string) *ec2.RunInstancesInput {
	tags := []types.Tag{{Key: aws.String("pool"), Value: aws.String("a")}}
	return &ec2.RunInstancesInput{
		ImageId: aws.String(awsemulator.ImageAMD64), InstanceType: types.InstanceTypeM5Large, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		UserData:          aws.String(base64.StdEncoding.EncodeToString([]byte("{}"))),
		NetworkInterfaces: []types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), SubnetId: aws.String(subnet), Groups: []string{group}}},
		BlockDeviceMappings: []types.BlockDeviceMapping{{DeviceName: aws.String("/dev/xvda"), Ebs: &types.EbsBlockDevice{
			VolumeSize: aws.Int32(120), VolumeType: types.VolumeTypeGp3, Iops: aws.Int32(4000), Encrypted: aws.Bool(true), KmsKeyId: aws.String("alias/key"), DeleteOnTermination: aws.Bool(true),
		}}},
		MetadataOptions: &types.InstanceMetadataOptionsRequest{HttpTokens: types.HttpTokensStateRequired, HttpPutResponseHopLimit: aws.Int32(2)},
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeInstance, Tags: tags},
			{ResourceType: types.ResourceTypeVolume, Tags: tags},
			{ResourceType: types.ResourceTypeNetworkInterface, Tags: tags},
		},
	}
}

func (a *account) describeInstance(t *testing.T, id string) types.Instance {
	t.Helper()
	found, err := a.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	must(t, err)
	return found.Reservations[0].Instances[0]
}

// volumeSizes are the sizes of an instance's volumes, by device.
func (a *account) volumeSizes(t *testing.T, id string) map[string]int32 {
	t.Helper()
	volumes, err := a.ec2.DescribeVolumes(t.Context(), &ec2.DescribeVolumesInput{Filters: []types.Filter{filter("attachment.instance-id", id)}})
	must(t, err)
	sizes := map[string]int32{}
	for _, v := range volumes.Volumes {
		sizes[*v.Attachments[0].Device] = *v.Size
	}
	return sizes
}

func TestAMappingForAnotherDeviceThanTheRootDeviceIsAnAdditionalVolume(t *testing.T) {
	a := newAccount(t)
	subnet, group := a.subnet(t, "10.0.0.0/24", 0), a.securityGroup(t, "node")
	for image, wants := range map[string]map[string]map[string]int32{
		awsemulator.ImageAMD64:       {"/dev/xvda": {"/dev/xvda": 120}, "/dev/sda1": {"/dev/xvda": 8, "/dev/sda1": 120}, "": {"/dev/xvda": 8}},
		awsemulator.ImageAMD64Ubuntu: {"/dev/xvda": {"/dev/xvda": 120, "/dev/sda1": 8}, "/dev/sda1": {"/dev/sda1": 120}, "": {"/dev/sda1": 8}},
	} {
		for device, want := range wants {
			request := launch(subnet, group)
			request.ImageId = aws.String(image)
			request.BlockDeviceMappings[0].DeviceName = aws.String(device)
			if device == "" {
				request.BlockDeviceMappings = nil
			}
			made, err := a.ec2.RunInstances(t.Context(), request)
			must(t, err)
			i := a.describeInstance(t, *made.Instances[0].InstanceId)
			if got := a.volumeSizes(t, *i.InstanceId); !maps.Equal(got, want) {
				t.Errorf("%s with a mapping for %q has the volumes %v, want %v", image, device, got, want)
			}
			equal(t, "number of devices", len(i.BlockDeviceMappings), len(want))
		}
	}
}

func TestAnInstanceIsWhatWasAskedFor(t *testing.T) {
	a := newAccount(t)
	must(t, emulator.InstanceProfile(t.Context(), a.id, "worker"))
	subnet, group := a.subnet(t, "10.0.0.0/24", 0), a.securityGroup(t, "node")
	request := launch(subnet, group)
	request.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: aws.String("worker")}
	made, err := a.ec2.RunInstances(t.Context(), request)
	must(t, err)
	id := *made.Instances[0].InstanceId

	i := a.describeInstance(t, id)
	equal(t, "subnet", *i.SubnetId, subnet)
	equal(t, "profile", *i.IamInstanceProfile.Arn, "arn:aws:iam::"+a.id+":instance-profile/worker")
	equal(t, "metadata needs a token", i.MetadataOptions.HttpTokens, types.HttpTokensStateRequired)
	equal(t, "tag", *i.Tags[0].Value, "a")
	data, err := a.ec2.DescribeInstanceAttribute(t.Context(), &ec2.DescribeInstanceAttributeInput{InstanceId: &id, Attribute: types.InstanceAttributeNameUserData})
	must(t, err)
	equal(t, "user data", *data.UserData.Value, *request.UserData)

	mine := []types.Filter{filter("attachment.instance-id", id)}
	volumes, err := a.ec2.DescribeVolumes(t.Context(), &ec2.DescribeVolumesInput{Filters: mine})
	must(t, err)
	volume := volumes.Volumes[0]
	equal(t, "size", *volume.Size, 120)
	equal(t, "IOPS", *volume.Iops, 4000)
	equal(t, "key", *volume.KmsKeyId, "alias/key")
	equal(t, "tag of the volume", *volume.Tags[0].Value, "a")
	interfaces, err := a.ec2.DescribeNetworkInterfaces(t.Context(), &ec2.DescribeNetworkInterfacesInput{Filters: mine})
	must(t, err)
	equal(t, "tag of the interface", *interfaces.NetworkInterfaces[0].TagSet[0].Value, "a")
	equal(t, "group of the interface", *interfaces.NetworkInterfaces[0].Groups[0].GroupId, group)
}

func TestWhatAnInstanceHadIsFreeWhenItIsGone(t *testing.T) {
	a := newAccount(t)
	subnet, group := a.subnet(t, "10.0.0.0/24", 0), a.securityGroup(t, "node")
	made, err := a.ec2.RunInstances(t.Context(), launch(subnet, group))
	must(t, err)
	slowly(t)
	_, err = a.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{*made.Instances[0].InstanceId}})
	must(t, err)
	_, err = a.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: &group})
	refused(t, err, "DependencyViolation")
	instantly(t)
	interfaces, err := a.ec2.DescribeNetworkInterfaces(t.Context(), &ec2.DescribeNetworkInterfacesInput{Filters: []types.Filter{filter("group-id", group)}})
	must(t, err)
	equal(t, "interfaces", len(interfaces.NetworkInterfaces), 0)
	_, err = a.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: &group})
	refused(t, err, "")
}

func TestHowAnInstanceIsPaidForAndPlacedCanBeSeen(t *testing.T) {
	a := newAccount(t)
	must(t, emulator.AddPlacements(t.Context(), a.id, "cr-1"))
	subnet, group := a.subnet(t, "10.0.0.0/24", 0), a.securityGroup(t, "node")
	for sentence, c := range map[string]struct {
		ask   func(*ec2.RunInstancesInput)
		check func(types.Instance) (got, want any)
	}{
		"spot": {
			func(in *ec2.RunInstancesInput) {
				in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}
			},
			func(i types.Instance) (any, any) { return i.InstanceLifecycle, types.InstanceLifecycleTypeSpot },
		},
		"a capacity block": {
			func(in *ec2.RunInstancesInput) {
				in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeCapacityBlock}
			},
			func(i types.Instance) (any, any) {
				return i.InstanceLifecycle, types.InstanceLifecycleTypeCapacityBlock
			},
		},
		"a reservation": {
			func(in *ec2.RunInstancesInput) {
				in.CapacityReservationSpecification = &types.CapacityReservationSpecification{CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: aws.String("cr-1")}}
			},
			func(i types.Instance) (any, any) {
				return *i.CapacityReservationId + *i.CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId, "cr-1cr-1"
			},
		},
		"no reservation": {
			func(in *ec2.RunInstancesInput) {
				in.CapacityReservationSpecification = &types.CapacityReservationSpecification{CapacityReservationPreference: types.CapacityReservationPreferenceNone}
			},
			func(i types.Instance) (any, any) {
				return i.CapacityReservationSpecification.CapacityReservationPreference, types.CapacityReservationPreferenceNone
			},
		},
		"a host": {
			func(in *ec2.RunInstancesInput) {
				in.Placement = &types.Placement{Tenancy: types.TenancyHost, HostId: aws.String("h-1")}
			},
			func(i types.Instance) (any, any) { return *i.Placement.HostId + string(i.Placement.Tenancy), "h-1host" },
		},
		"nothing special": {
			func(*ec2.RunInstancesInput) {},
			func(i types.Instance) (any, any) {
				return string(i.InstanceLifecycle) + string(i.Placement.Tenancy), "default"
			},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			request := launch(subnet, group)
			c.ask(request)
			made, err := a.ec2.RunInstances(t.Context(), request)
			must(t, err)
			got, want := c.check(a.describeInstance(t, *made.Instances[0].InstanceId))
			equal(t, sentence, got, want)
		})
	}
}

func TestWhatCannotBeLaunchedIsRefused(t *testing.T) {
	a := newAccount(t)
	subnet, group := a.subnet(t, "10.0.0.0/24", 0), a.securityGroup(t, "node")
	for sentence, c := range map[string]struct {
		ask  func(*ec2.RunInstancesInput)
		code string
	}{
		"no such image":  {func(in *ec2.RunInstancesInput) { in.ImageId = aws.String("ami-0123456789abcdef0") }, "InvalidAMIID.NotFound"},
		"no such type":   {func(in *ec2.RunInstancesInput) { in.InstanceType = "m9.large" }, "InvalidParameterValue"},
		"no such subnet": {func(in *ec2.RunInstancesInput) { in.NetworkInterfaces[0].SubnetId = aws.String("subnet-0") }, "InvalidSubnetID.NotFound"},
		"the image is for another architecture": {func(in *ec2.RunInstancesInput) {
			in.InstanceType = types.InstanceTypeM6gLarge
		}, "InvalidParameterValue"},
		"no such profile": {func(in *ec2.RunInstancesInput) {
			in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: aws.String("nobody")}
		}, "InvalidParameterValue"},
		"too much user data": {func(in *ec2.RunInstancesInput) {
			in.UserData = aws.String(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{'x'}, 16385)))
		}, "InvalidParameterValue"},
		"as much user data as there may be": {func(in *ec2.RunInstancesInput) {
			in.UserData = aws.String(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{'x'}, 16384)))
		}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			request := launch(subnet, group)
			c.ask(request)
			_, err := a.ec2.RunInstances(t.Context(), request)
			refused(t, err, c.code)
		})
	}
	emulator.ExpectRefused(t, a.id, "ec2.RunInstances InvalidParameterValue") // the type that does not exist
}

func TestTheSameLaunchTwiceIsOneInstance(t *testing.T) {
	a := newAccount(t)
	request := launch(a.subnet(t, "10.0.0.0/24", 0), a.securityGroup(t, "node"))
	request.ClientToken = aws.String("once")
	first, err := a.ec2.RunInstances(t.Context(), request)
	must(t, err)
	second, err := a.ec2.RunInstances(t.Context(), request)
	must(t, err)
	equal(t, "instance", *second.Instances[0].InstanceId, *first.Instances[0].InstanceId)
}

func TestAnAccountMayNotGetMoreMachines(t *testing.T) {
	a := newAccount(t)
	subnet, group := a.subnet(t, "10.0.0.0/24", 0), a.securityGroup(t, "node")
	for code, fault := range map[string]awsemulator.Fault{
		"InsufficientInstanceCapacity": awsemulator.NoCapacity(a.id, "m5.large", a.zones[0]),
		"VcpuLimitExceeded":            awsemulator.InstanceLimit(a.id, 32),
	} {
		must(t, emulator.Fault(t.Context(), fault))
		_, err := a.ec2.RunInstances(t.Context(), launch(subnet, group))
		refused(t, err, code)
		must(t, emulator.Forgive(t.Context(), a.id))
		_, err = a.ec2.RunInstances(t.Context(), launch(subnet, group))
		refused(t, err, "")
	}
}

func TestANewVPCHasTheDHCPOptionsOfItsRegion(t *testing.T) {
	a := newAccount(t)
	vpcs, err := a.ec2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{VpcIds: []string{a.vpc}})
	must(t, err)
	found, err := a.ec2.DescribeDhcpOptions(t.Context(), &ec2.DescribeDhcpOptionsInput{DhcpOptionsIds: []string{*vpcs.Vpcs[0].DhcpOptionsId}})
	must(t, err)
	for _, c := range found.DhcpOptions[0].DhcpConfigurations {
		if *c.Key == "domain-name" {
			equal(t, "domain", *c.Values[0].Value, "ec2.internal")
			return
		}
	}
	t.Errorf("no domain name in %v", found.DhcpOptions[0].DhcpConfigurations)
}

func TestAnImageIsNamedByAPublicParameter(t *testing.T) {
	a := newAccount(t)
	subnet, group := a.subnet(t, "10.0.0.0/24", 0), a.securityGroup(t, "node")
	request := launch(subnet, group)
	request.ImageId = aws.String("resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64")
	made, err := a.ec2.RunInstances(t.Context(), request)
	must(t, err)
	i := a.describeInstance(t, *made.Instances[0].InstanceId)
	equal(t, "image", *i.ImageId, awsemulator.ImageAMD64)
	equal(t, "vCPUs", *i.CpuOptions.CoreCount**i.CpuOptions.ThreadsPerCore, 2)
	request = launch(subnet, group)
	request.ImageId = aws.String("resolve:ssm:/aws/service/none")
	_, err = a.ec2.RunInstances(t.Context(), request)
	refused(t, err, "InvalidParameterValue")
}
