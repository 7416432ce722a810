"""EC2 is eventually consistent: Describe calls find new resources and changed tags later.

The delay "visibility" is that time. A resource that is asked for by its id meanwhile is refused with
the code of an id that does not exist; a look-up by tag or filter finds less.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models.core import TaggedEC2Resource
from moto.ec2.models.dhcp_options import DHCPOptionsSet
from moto.ec2.models.elastic_ip_addresses import ElasticAddress
from moto.ec2.models.instances import Instance
from moto.ec2.models.internet_gateways import InternetGateway
from moto.ec2.models.nat_gateways import NatGateway
from moto.ec2.models.route_tables import RouteTable
from moto.ec2.models.subnets import Subnet
from moto.ec2.models.vpcs import VPC
from moto.ec2.responses import EC2Response

from . import states
from .errors import refuse
from .patching import wrap

# The list in the answer, the class, the parameter with ids, the code of an unknown id.
_DESCRIBED: dict[str, tuple[str, type, str, str]] = {
    "describe_vpcs": ("Vpcs", VPC, "VpcIds", "InvalidVpcID.NotFound"),
    "describe_subnets": ("Subnets", Subnet, "SubnetIds", "InvalidSubnetID.NotFound"),
    "describe_route_tables": ("RouteTables", RouteTable, "RouteTableIds", "InvalidRouteTableID.NotFound"),
    "describe_internet_gateways": (
        "InternetGateways",
        InternetGateway,
        "InternetGatewayIds",
        "InvalidInternetGatewayID.NotFound",
    ),
    "describe_nat_gateways": ("NatGateways", NatGateway, "NatGatewayIds", "NatGatewayNotFound"),
    "describe_addresses": ("Addresses", ElasticAddress, "AllocationIds", "InvalidAllocationID.NotFound"),
    "describe_dhcp_options": ("DhcpOptions", DHCPOptionsSet, "DhcpOptionsIds", "InvalidDhcpOptionsID.NotFound"),
}


def _visible(resource: Any) -> bool:
    timer = resource.__dict__.get("_visible") if hasattr(resource, "__dict__") else None
    return timer is None or timer.over()


def _describe(action: str, key: str, ids: str, code: str) -> None:
    @wrap(EC2Response, action)
    def _described(original: Any, self: EC2Response) -> ActionResult:
        answer: ActionResult = original(self)
        found = list(answer.result[key])  # type: ignore[index]
        seen = [resource for resource in found if _visible(resource)]
        if len(seen) < len(found) and self._get_param(ids, []):
            missing = next(resource for resource in found if not _visible(resource))
            raise refuse(code, f"The ID '{getattr(missing, 'id', '')}' does not exist")
        answer.result[key] = seen  # type: ignore[index]
        return answer


for _action, (_key, _cls, _ids, _code) in _DESCRIBED.items():
    states.stamp(_cls)
    _describe(_action, _key, _ids, _code)
states.stamp(Instance)


@wrap(EC2Response, "describe_instances")
def _describe_instances(original: Any, self: EC2Response) -> ActionResult:
    answer: ActionResult = original(self)
    shown = []
    for reservation in answer.result["Reservations"]:  # type: ignore[index]
        seen = [instance for instance in reservation.instances if _visible(instance)]
        if len(seen) < len(reservation.instances) and self._get_param("InstanceIds", []):
            raise refuse("InvalidInstanceID.NotFound", "The instance IDs do not exist")
        if seen:
            part = copy.copy(reservation)
            part.instances = seen
            shown.append(part)
    answer.result["Reservations"] = shown  # type: ignore[index]
    return answer


# --- Tags

# The former value of a tag, by resource and key, with the time for which Describe calls still have it.
_former: dict[tuple[str, str], tuple[str | None, states.Timer]] = {}


def reset() -> None:
    """Forget former tags."""
    _former.clear()


def _change_tags(original: Callable[..., Any], self: EC2Response) -> Any:
    tags = self.ec2_backend.tags
    before = {
        (resource, tag["Key"]): tags.get(resource, {}).get(tag["Key"])
        for resource in self._get_param("Resources", [])
        for tag in self._get_param("Tags", [])
    }
    answer = original(self)
    for where, value in before.items():
        _former[where] = value, states.Timer("visibility")
    return answer


for _call in ("create_tags", "delete_tags"):
    wrap(EC2Response, _call)(_change_tags)


@wrap(TaggedEC2Resource, "get_tags")
def _get_tags(original: Any, self: Any) -> list[dict[str, str]]:
    tags: list[dict[str, str]] = original(self)
    stale = {
        key: value for (resource, key), (value, timer) in _former.items() if resource == self.id and not timer.over()
    }
    if not stale:
        return tags
    shown = [tag for tag in tags if tag["key"] not in stale]
    kind = tags[0]["resource_type"] if tags else ""
    for key, value in stale.items():
        if value is not None:
            shown.append({"resource_id": self.id, "key": key, "value": value, "resource_type": kind})
    return shown
