"""What the cloud-controller-manager and the controllers of machines ask of instances and their profiles."""

from __future__ import annotations

import base64
import pathlib
from typing import Any

from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.ec2.models import EC2Backend
from moto.ec2.models.amis import Ami
from moto.ec2.models.instances import Instance
from moto.ec2.responses import EC2Response
from moto.iam.responses import IamResponse
from moto.ssm.models import ParameterDict

from .patching import add, wrap

# The second one is of an older release: what is rolled out must differ in what it starts from. The third one has a kubelet. The
# fourth one has the root device of the images of Ubuntu, the others that of Amazon Linux, Debian and Flatcar.
_IMAGES = {
    "ami-0000000000000a064": ("x86_64", "/dev/xvda"),
    "ami-0000000000001a064": ("x86_64", "/dev/xvda"),
    "ami-0000000000002a064": ("x86_64", "/dev/xvda"),
    "ami-0000000000003a064": ("x86_64", "/dev/sda1"),
    "ami-0000000000000a4a6": ("arm64", "/dev/xvda"),
}
_ROOT_VOLUME_SIZE = 8  # GiB, of every image

# Parameters of Systems Manager in which AWS publishes images.
IMAGE_PARAMETERS = {
    "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64": "ami-0000000000000a064",
    "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64": "ami-0000000000000a4a6",
}


@wrap(ParameterDict, "_load_latest_amis")
def _load_image_parameters(original: Any, self: ParameterDict) -> None:
    original(self)  # the values are images that are not there
    for name, image in IMAGE_PARAMETERS.items():
        for parameter in dict.get(self, name, []):
            parameter.value = image


@wrap(EC2Backend, "_load_amis")
def _load_images(_: Any, self: EC2Backend) -> None:
    # moto gives each new account 1,300 images and a snapshot for each of them:
    # a fifth of a second per account, for images that nobody here looks up.
    for image, (architecture, root_device) in _IMAGES.items():
        self.amis[image] = Ami(
            self,
            ami_id=image,
            name=f"{image}-{architecture}",
            architecture=architecture,
            virtualization_type="hvm",
            root_device_name=root_device,
            root_device_type="ebs",
            owner_id="137112412989",
            owner_alias="amazon",
            public=True,
            state="available",
            creation_date=utcnow(),
        )


@wrap(Instance, "setup_defaults")
def _setup_defaults(_: Any, self: Instance) -> None:
    """Leave the root volume to _launch: moto adds one at /dev/sda1 for every image."""


@wrap(EC2Backend, "run_instances")
def _launch(original: Any, self: EC2Backend, *args: Any, **kwargs: Any) -> Any:
    # A mapping changes the root volume only if it has the name of the image's root device. With another name it adds a volume, and
    # the root volume stays as the image describes it:
    # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/block-device-mapping-concepts.html
    volume_tags = (kwargs.get("tags") or {}).get("volume", {})
    reservation = original(self, *args, **kwargs)
    for instance in reservation.instances:
        root = instance.root_device_name
        if root not in instance.block_device_mapping:
            instance.add_block_device(_ROOT_VOLUME_SIZE, root, None, False, True, None, volume_type="gp3")
            self.get_volume(instance.block_device_mapping[root].volume_id).add_tags(volume_tags)
    return reservation


@wrap(EC2Backend, "get_reservations_by_instance_ids")
def _get_reservations(original: Any, self: EC2Backend, instance_ids: list[str], filters: Any = None) -> Any:
    # The cloud-controller-manager batches its look-ups and repeats ids; moto fails on the second.
    return original(self, list(dict.fromkeys(instance_ids)), filters=filters)


# Files with what instances have written on their consoles, by the id of the instance.
_consoles: dict[str, pathlib.Path] = {}
_CONSOLE_LIMIT = 64 << 10  # bytes


def set_consoles(files: dict[str, str]) -> None:
    """Name the files in which the consoles of instances are."""
    _consoles.update({instance: pathlib.Path(path) for instance, path in files.items()})


def reset() -> None:
    """Forget the files."""
    _consoles.clear()


@wrap(EC2Response, "get_console_output")
def _get_console_output(_: Any, self: EC2Response) -> ActionResult:
    # AWS has the present output of all instances on its Nitro hypervisor, which are those that it offers today. For a
    # request without Latest it may be some minutes old; here it is not.
    instance = self.ec2_backend.get_instance(self._get_param("InstanceId"))
    result = {"InstanceId": instance.id, "Timestamp": utcnow()}
    file = _consoles.get(instance.id)
    text = file.read_bytes()[-_CONSOLE_LIMIT:] if file is not None and file.exists() else b""
    if text:
        result["Output"] = base64.b64encode(text).decode()
    return ActionResult(result)


@wrap(IamResponse, "list_instance_profiles")
def _list_instance_profiles(original: Any, self: IamResponse) -> Any:
    # moto lists those of other paths, too. Karpenter deletes the ones below its own path that it does not need.
    answer, prefix = original(self), self._get_param("PathPrefix") or "/"
    answer.result["InstanceProfiles"] = [p for p in answer.result["InstanceProfiles"] if p.path.startswith(prefix)]
    return answer


@add(EC2Response, "describe_instance_topology")
def _describe_instance_topology(self: EC2Response) -> ActionResult:
    return ActionResult({"Instances": []})
