"""CreateFleet: what an instance keeps of its launch template.

moto starts the instances of a fleet with their image, type, subnet, tags and user
data. Karpenter compares the rest with what it wants, and replaces an instance that
differs: security groups, profile, metadata options, volumes.
"""

from __future__ import annotations

from typing import Any

from moto.ec2.models import EC2Backend
from moto.ec2.models.fleets import Fleet
from moto.ec2.models.instances import MetadataOptions
from moto.iam.models import iam_backends

from .errors import refuse
from .patching import wrap

_USER_DATA_LIMIT = 16384  # bytes, before base64


@wrap(Fleet, "create_on_demand_requests")
def _launch_on_demand(original: Any, self: Fleet, weight_to_add: float) -> None:
    original(self, weight_to_add)
    for item in self.on_demand_instances:
        _complete(self.ec2_backend, item["instance"], item["launch_spec"])


@wrap(Fleet, "create_spot_requests")
def _launch_spot(original: Any, self: Fleet, weight_to_add: float) -> Any:
    requests = original(self, weight_to_add)
    for request in requests:
        _complete(self.ec2_backend, request.instance, request.launch_spec)
    return requests


def _complete(backend: EC2Backend, instance: Any, spec: Any) -> None:
    named = spec.launch_template_spec
    template = backend.get_launch_template(named["LaunchTemplateId"])
    data = template.get_version(named.get("Version") or template.default_version_number).data
    _groups(backend, instance, data)
    _profile(backend, instance, data)
    if options := data.get("MetadataOptions"):
        instance.metadata_options = MetadataOptions(options)
    _volumes(backend, instance, data)
    for tagged in data.get("TagSpecifications", []):
        if tagged.get("ResourceType") == "network-interface":
            for interface in instance.nics.values():
                interface.add_tags({tag["Key"]: tag.get("Value", "") for tag in tagged.get("Tags", [])})


def _groups(backend: EC2Backend, instance: Any, data: dict[str, Any]) -> None:
    ids = list(data.get("SecurityGroupIds", []))
    for interface in data.get("NetworkInterfaces", []):
        ids += interface.get("Groups", []) or interface.get("SecurityGroupId", [])
    groups = [backend.get_security_group_from_id(group) for group in ids]
    if None in groups:
        raise refuse("InvalidGroup.NotFound", f"The security group '{ids[groups.index(None)]}' does not exist")
    if groups:
        instance.security_groups = groups
        for interface in instance.nics.values():
            interface._group_set = list(groups)


def _profile(backend: EC2Backend, instance: Any, data: dict[str, Any]) -> None:
    asked = data.get("IamInstanceProfile") or {}
    name, arn = asked.get("Name"), asked.get("Arn")
    if not name and not arn:
        return
    for profile in iam_backends[backend.account_id]["aws"].instance_profiles.values():
        if name == profile.name or arn == profile.arn:
            backend.associate_iam_instance_profile(instance.id, iam_instance_profile_arn=profile.arn)
            return
    raise refuse(
        "InvalidParameterValue",
        f"Value ({name or arn}) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name",
    )


def _volumes(backend: EC2Backend, instance: Any, data: dict[str, Any]) -> None:
    asked = {m.get("DeviceName"): m.get("Ebs", {}) for m in data.get("BlockDeviceMappings", [])}
    for device in asked.keys() - instance.block_device_mapping.keys():  # not the root device: an additional volume
        instance.add_block_device(1, device, None, False, True, None, volume_type=None)
    for device, mapping in instance.block_device_mapping.items():
        wanted, volume = asked.get(device), backend.get_volume(mapping.volume_id)
        if wanted:
            volume.size = int(wanted.get("VolumeSize") or volume.size)
            volume.volume_type = wanted.get("VolumeType") or volume.volume_type
            volume.encrypted = str(wanted.get("Encrypted", "false")).lower() == "true"
