"""RunInstances: what AWS refuses, and what it keeps of a request.

moto launches nearly everything. A machine controller is told by AWS what is wrong
with a template, so the words matter: they end up in a condition that a user reads.
"""

from __future__ import annotations

from typing import Any

from moto.ec2.models import EC2Backend
from moto.ec2.models.instance_types import INSTANCE_TYPES
from moto.ec2.responses import EC2Response
from moto.iam.models import iam_backends
from moto.moto_api._internal import mock_random

from . import iam, idempotency, instances, rules, zones
from .errors import refuse
from .patching import wrap


@wrap(EC2Response, "run_instances")
def _run_instances(original: Any, self: EC2Response) -> Any:
    _resolve_parameter(self)
    _check_image_and_type(self)
    _check_profile(self)
    _check_user_data(self)
    _check_interfaces(self)
    _check_zone(self)
    _check_volumes(self)
    _check_placement(self)
    _check_metadata(self)
    answer = original(self)
    for instance in answer.result.instances:
        _keep_placement(self, instance)
        _keep_market(self, instance)
        _keep_volumes(self, instance)
        processors = INSTANCE_TYPES[instance.instance_type]["VCpuInfo"]
        instance.cpu_options = {
            "CoreCount": processors["DefaultCores"],
            "ThreadsPerCore": processors["DefaultThreadsPerCore"],
        }
    return answer


idempotency.remember("run_instances")


def _resolve_parameter(request: EC2Response) -> None:
    """Read the id of the image from a public parameter of Systems Manager, as EC2 does for resolve:ssm:NAME."""
    _, found, name = (request._get_param("ImageId") or "").partition("resolve:ssm:")
    if found and name not in instances.IMAGE_PARAMETERS:
        raise refuse("InvalidParameterValue", f"The SSM parameter {name} does not exist.")
    if found:
        request.params["ImageId"] = instances.IMAGE_PARAMETERS[name]


def _check_image_and_type(request: EC2Response) -> None:
    image_id, name = request._get_param("ImageId"), request._get_param("InstanceType") or "m1.small"
    image = next(iter(request.ec2_backend.describe_images(ami_ids=[image_id])), None)  # refuses what is not there
    kind = INSTANCE_TYPES.get(name)
    if kind is None:
        raise refuse("InvalidParameterValue", f"Invalid value '{name}' for InstanceType.")
    architectures = kind["ProcessorInfo"]["SupportedArchitectures"]
    if image is not None and image.architecture not in architectures:
        raise refuse(
            "InvalidParameterValue",
            f"The architecture '{','.join(architectures)}' of the specified instance type does not match the"
            f" architecture '{image.architecture}' of the specified AMI. Specify an instance type and an AMI that have"
            " matching architectures, and try again. You can use 'describe-instance-types' or 'describe-images' to"
            " discover the architecture of the instance type or AMI.",
        )


def _check_profile(request: EC2Response) -> None:
    profiles = iam_backends[request.current_account]["aws"].instance_profiles.values()
    name, arn = request._get_param("IamInstanceProfile.Name"), request._get_param("IamInstanceProfile.Arn")
    for profile in profiles:
        if (name and profile.name == name) or (arn and profile.arn == arn):
            iam.check_profile(profile)
    if name and not any(profile.name == name for profile in profiles):
        raise refuse(
            "InvalidParameterValue",
            f"Value ({name}) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name",
        )
    if arn and not any(profile.arn == arn for profile in profiles):
        raise refuse(
            "InvalidParameterValue",
            f"Value ({arn}) for parameter iamInstanceProfile.arn is invalid. Invalid IAM Instance Profile ARN",
        )


def _check_user_data(request: EC2Response) -> None:
    encoded = request._get_param("UserData") or ""
    rules.at_most("ec2-user-data", len(encoded) * 3 // 4 - encoded.count("="))


def _check_interfaces(request: EC2Response) -> None:
    backend: EC2Backend = request.ec2_backend
    interfaces = request._get_param("NetworkInterfaces", [])
    kind = request._get_param("InstanceType") or "m1.small"
    most = INSTANCE_TYPES[kind]["NetworkInfo"]["MaximumNetworkInterfaces"]
    if len(interfaces) > most:
        rules.refuse("ec2-interfaces-per-instance", kind)
    default = {"SubnetId": request._get_param("SubnetId"), "Groups": request._get_param("SecurityGroupIds", [])}
    for interface in [default, *interfaces]:
        groups = interface.get("Groups") or interface.get("SecurityGroupIds") or []
        if not groups or not interface.get("SubnetId"):
            continue
        subnet = backend.get_subnet(interface["SubnetId"])
        for group_id in groups:
            group = backend.get_security_group_from_id(group_id)
            if group is not None and group.vpc_id != subnet.vpc_id:
                rules.refuse("ec2-group-of-another-vpc", f"{group_id} and subnet {subnet.id}")


def _check_zone(request: EC2Response) -> None:
    backend: EC2Backend = request.ec2_backend
    interfaces = request._get_param("NetworkInterfaces", [])
    kind = request._get_param("InstanceType") or "m1.small"
    ids = [request._get_param("SubnetId"), *(interface.get("SubnetId") for interface in interfaces)]
    for subnet in [backend.get_subnet(subnet_id) for subnet_id in ids if subnet_id]:
        if not zones.offers(subnet.availability_zone_id, backend.region_name, kind):
            rules.refuse("ec2-instance-type-in-zone", kind)


def _check_volumes(request: EC2Response) -> None:
    image = next(iter(request.ec2_backend.describe_images(ami_ids=[request._get_param("ImageId")])), None)
    for mapping in request._get_param("BlockDeviceMappings", []):
        volume = mapping.get("Ebs") or {}
        root = image is not None and mapping.get("DeviceName") == image.root_device_name
        size = int(volume.get("VolumeSize") or rules.limit("ec2-root-volume-size"))
        if root and size < rules.limit("ec2-root-volume-size"):
            rules.refuse("ec2-root-volume-size", size)
        if volume.get("VolumeType") != "gp3":
            continue
        iops, throughput = int(volume.get("Iops") or 0), int(volume.get("Throughput") or 0)
        if iops / size > rules.limit("ec2-gp3-iops"):
            rules.refuse("ec2-gp3-iops", f"{iops / size:.6f}")
        ratio = throughput / (iops or 3000)
        if ratio > rules.limit("ec2-gp3-throughput"):
            rules.refuse("ec2-gp3-throughput", f"{ratio:.6f}")


def _check_placement(request: EC2Response) -> None:
    # The emulator has no placement groups and no capacity reservations, apart from those that a test has added.
    known = _known.get(request.current_account, set())
    group = request._get_param("Placement.GroupName")
    if group and group not in known:
        rules.refuse("ec2-placement-group", group)
    target = request._get_param("CapacityReservationSpecification.CapacityReservationTarget", {})
    reservation = target.get("CapacityReservationId")
    if reservation and reservation not in known:
        rules.refuse("ec2-capacity-reservation", reservation)


def _check_metadata(request: EC2Response) -> None:
    limit = request._get_param("MetadataOptions.HttpPutResponseHopLimit")
    if limit is not None:
        rules.match("ec2-metadata-hop-limit", str(limit))


# Names of placement groups and ids of capacity reservations, by account.
_known: dict[str, set[str]] = {}


def know(account: str, names: list[str]) -> None:
    """Let an account have placement groups and capacity reservations."""
    _known.setdefault(account, set()).update(names)


def reset() -> None:
    """Forget placement groups and capacity reservations."""
    _known.clear()


def _keep_placement(request: EC2Response, instance: Any) -> None:
    asked = request._get_param("Placement", {})
    instance.placement.tenancy = asked.get("Tenancy") or "default"
    instance.placement.affinity = asked.get("Affinity")
    instance.placement.group_name = asked.get("GroupName", "")
    instance.placement.partition_number = asked.get("PartitionNumber")


def _keep_market(request: EC2Response, instance: Any) -> None:
    """Keep how the instance is paid for: spot, or a reservation of capacity."""
    match request._get_param("InstanceMarketOptions.MarketType"):
        case "spot":
            instance.lifecycle = "spot"
            instance.spot_instance_request_id = "sir-" + mock_random.get_random_hex(8)
        case "capacity-block":
            instance.lifecycle = "capacity-block"
    asked = request._get_param("CapacityReservationSpecification", {})
    target = asked.get("CapacityReservationTarget", {})
    instance.capacity_reservation_id = target.get("CapacityReservationId")
    preference = asked.get("CapacityReservationPreference") or ("open" if not target else None)
    instance.capacity_reservation_specification = {
        "CapacityReservationPreference": preference,
        "CapacityReservationTarget": target or None,
    }


def _keep_volumes(request: EC2Response, instance: Any) -> None:
    asked = {m.get("DeviceName"): m.get("Ebs", {}) for m in request._get_param("BlockDeviceMappings", [])}
    for device, mapping in instance.block_device_mapping.items():
        volume = request.ec2_backend.get_volume(mapping.volume_id)
        volume.iops = asked.get(device, {}).get("Iops") or volume.iops
        volume.throughput = asked.get(device, {}).get("Throughput") or volume.throughput


@wrap(EC2Backend, "run_instances")
def _launch(original: Any, self: EC2Backend, *args: Any, **kwargs: Any) -> Any:
    for interface in kwargs.get("nics", []):
        if "NetworkInterfaceId" not in interface:  # it is created with the instance, and deleted with it
            interface.setdefault("DeleteOnTermination", True)
    reservation = original(self, *args, **kwargs)
    tags = kwargs.get("tags", {}).get("network-interface", {})
    for instance in reservation.instances:
        # Groups given with the interface are the instance's groups; moto leaves them on the interface.
        if not instance.security_groups and instance.nics:
            instance.security_groups = list(instance.nics[min(instance.nics)].group_set)
        for interface in instance.nics.values():
            interface.add_tags(tags)
    return reservation
