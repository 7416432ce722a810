package awstemplate

import "regexp"

// oneRule is the description of one rule of a security group: a protocol, ports and a network.
var oneRule = regexp.MustCompile(`^([a-z]+) (\d+)-(\d+) from ([0-9./]+)$`)

// translateInstance translates an instance of the package machine.
func translateInstance(t *translation) {
	image := t.lookUp(t.ID+"/image", "Image", t.take("image-parameter"))
	subnet, group, address, public := t.take("subnet"), t.take("security-groups"), t.take("address"), t.take("public-address") == "true"
	tokens, hops, data := t.take("metadata-tokens"), t.number(t.take("metadata-hops")), t.take("user-data")
	device, size, volumeType := t.take("root-device"), t.number(t.take("root-size")), t.take("root-type")
	// An instance runs after its launch, and the user data have the listeners.
	t.take("state")
	t.take("listeners")

	t.set("ImageId", "ami", image)
	t.set("InstanceType", "instance_type", t.take("instance-type"))
	t.set("MetadataOptions", "", map[string]any{"HttpEndpoint": "enabled", "HttpTokens": tokens, "HttpPutResponseHopLimit": hops})
	t.set("", "metadata_options", map[string]any{"http_endpoint": "enabled", "http_tokens": tokens, "http_put_response_hop_limit": hops})
	t.set("NetworkInterfaces", "", []any{map[string]any{
		"DeviceIndex": "0", "SubnetId": subnet, "GroupSet": []string{group}, "PrivateIpAddress": address, "AssociatePublicIpAddress": public,
		"DeleteOnTermination": true,
	}})
	t.set("", "subnet_id", subnet)
	t.set("", "vpc_security_group_ids", []string{group})
	t.set("", "private_ip", address)
	t.set("", "associate_public_ip_address", public)
	t.set("BlockDeviceMappings", "", []any{map[string]any{"DeviceName": device, "Ebs": map[string]any{
		"DeleteOnTermination": true, "Encrypted": true, "VolumeSize": size, "VolumeType": volumeType,
	}}})
	t.set("", "root_block_device", map[string]any{"delete_on_termination": true, "encrypted": true, "volume_size": size, "volume_type": volumeType})
	t.set("UserData", "", map[string]any{"Fn::Base64": data})
	t.set("", "user_data", data)
	// Another image or script does not replace the instance, as it does not for the command.
	t.set("", "lifecycle", map[string]any{"ignore_changes": []string{"ami", "user_data"}})
	t.setInstanceTags()
}

// setInstanceTags sets the tags of the instance, of its volume and of its network interface.
func (t *translation) setInstanceTags() {
	t.set("PropagateTagsToVolumeOnCreation", "", true)
	t.set("", "volume_tags", tagMap(t.tags))
	t.addTerraform(t.ID+"/network-interface", "aws_ec2_tag", map[string]any{
		"for_each": tagMap(t.tags), "resource_id": expression("${" + t.terraformAddress(t.ID) + ".primary_network_interface_id}"),
		"key": expression("${each.key}"), "value": expression("${each.value}"),
	})
	t.gap("tags of the network interface", "CloudFormation has no tags for it. Without them, a report by tags does not have it",
		`aws ec2 create-tags --resources "$(aws ec2 describe-instances --instance-ids `+ID(t.ID)+
			` --query "Reservations[].Instances[].NetworkInterfaces[].NetworkInterfaceId" --output text)" --tags `+t.tagArgument())
	t.setTags("Tags")
}
