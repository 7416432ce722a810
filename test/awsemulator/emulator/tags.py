"""DescribeTags knows what exists, and for about an hour instances and NAT gateways that are gone.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/terminating-instances.html and
https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-basics.html describe the hour; moto keeps the tags of all resources forever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from moto.ec2.models import EC2Backend

from . import states
from .patching import wrap
from .sharing import of_all_accounts

_EXISTING: dict[str, Callable[[EC2Backend], Iterable[str]]] = {
    "dopt": lambda b: b.dhcp_options_sets,
    "eipalloc": lambda b: (address.allocation_id for address in b.addresses),
    "eni": lambda b: b.enis,
    "igw": lambda b: b.internet_gateways,
    "rtb": lambda b: b.route_tables,
    "sg": lambda b: (group for groups in b.groups.values() for group in groups),
    "snap": lambda b: b.snapshots,
    # A participant gives tags of its own to a shared subnet.
    "subnet": lambda b: (subnet for owner in of_all_accounts(b) for subnets in owner.subnets.values() for subnet in subnets),
    "vol": lambda b: b.volumes,
    "vpc": lambda b: b.vpcs,
    "vpce": lambda b: (*b.vpc_end_points, *b.configurations),
}


@wrap(EC2Backend, "describe_tags")
def _describe_tags(original: Any, self: EC2Backend, filters: Any = None) -> Any:
    states.sweep()
    existing = {prefix: set(ids(self)) for prefix, ids in _EXISTING.items()}

    def exists(resource: str) -> bool:
        return resource in existing.get(resource.partition("-")[0], (resource,))

    found = [tag for tag in original(self, filters) if exists(tag["resource_id"])]
    for tag in found:
        # The value of the service model. moto has the word of its own table.
        if tag["resource_type"] == "nat-gateway":
            tag["resource_type"] = "natgateway"
    return found
