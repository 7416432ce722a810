"""Refusals because something is still in use.

Deleting in the wrong order is the most common fault of clean-up code. Plain moto
lets it pass; AWS answers DependencyViolation, and the order is found by trying.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import DependencyViolationError, InvalidSecurityGroupNotFoundError
from moto.ec2.models import EC2Backend
from moto.ec2.responses import EC2Response

from . import states
from .errors import refuse
from .patching import wrap
from .sharing import interfaces_in, of_all_accounts


def _instances(backend: EC2Backend) -> Iterator[Any]:
    for reservation in list(backend.reservations.values()):
        for instance in reservation.instances:
            if instance.state != "terminated":
                yield instance


def _group_user(backend: EC2Backend, group_id: str) -> str:
    """Name one thing that uses a security group."""
    for eni in list(backend.enis.values()):
        gone = eni.instance is not None and eni.instance.state == "terminated"
        if not gone and any(group.id == group_id for group in eni.group_set):
            return str(eni.id)
    for instance in _instances(backend):
        if any(group.id == group_id for group in instance.security_groups):
            return str(instance.id)
    for groups in list(backend.groups.values()):
        for group in list(groups.values()):
            rules = group.ingress_rules + group.egress_rules
            if group.id != group_id and any(rule.source_group.get("GroupId") == group_id for rule in rules):
                return str(group.id)
    return ""


@wrap(EC2Backend, "delete_security_group")
def _delete_security_group(
    original: Any, self: EC2Backend, name: str | None = None, group_id: str | None = None
) -> Any:
    if group_id and _group_user(self, group_id):
        raise DependencyViolationError(f"resource {group_id} has a dependent object")
    answer = original(self, name, group_id)
    self.tags.pop(group_id or "", None)
    return answer


@wrap(EC2Response, "describe_security_groups")
def _describe_security_groups(original: Any, self: EC2Response) -> ActionResult:
    answer = original(self)
    answer.result["SecurityGroups"] = states.visible(
        answer.result["SecurityGroups"], self._get_param("GroupIds", []), InvalidSecurityGroupNotFoundError
    )
    return answer


@wrap(EC2Backend, "delete_subnet")
def _delete_subnet(original: Any, self: EC2Backend, subnet_id: str) -> Any:
    used = any(
        not (eni.instance is not None and eni.instance.state == "terminated") for eni in interfaces_in(self, subnet_id)
    ) or any(nat.subnet_id == subnet_id and nat.state != "deleted" for nat in self.nat_gateways.values())
    if used:
        raise DependencyViolationError(f"The subnet '{subnet_id}' has dependencies and cannot be deleted.")
    for table in self.route_tables.values():
        for association in [a for a, subnet in table._associations.items() if subnet == subnet_id]:
            del table._associations[association]
    return original(self, subnet_id)


@wrap(EC2Backend, "delete_vpc")
def _delete_vpc(original: Any, self: EC2Backend, vpc_id: str) -> Any:
    gateways = [g for g in self.internet_gateways.values() if getattr(g.vpc, "id", "") == vpc_id]
    # An account that a subnet was shared with may have left groups behind.
    backends = of_all_accounts(self)
    groups = [g for b in backends for g in b.groups.get(vpc_id, {}).values() if g.name != "default"]
    endpoints = [e for e in self.vpc_end_points.values() if e.vpc_id == vpc_id]
    if gateways or groups or endpoints:
        raise DependencyViolationError(f"The vpc '{vpc_id}' has dependencies and cannot be deleted.")
    if (vpc := self.vpcs.get(vpc_id)) is not None and vpc.dhcp_options:
        # moto deletes the options with the VPC; in AWS they stay.
        vpc.dhcp_options.vpc = None
        vpc.dhcp_options = None
    return original(self, vpc_id)


@wrap(EC2Backend, "release_address")
def _release_address(
    original: Any, self: EC2Backend, address: str | None = None, allocation_id: str | None = None
) -> Any:
    for nat in self.nat_gateways.values():
        if nat.state != "deleted" and any(a.get("allocationId") == allocation_id for a in nat.address_set):
            raise refuse("InvalidIPAddress.InUse", f"The address {allocation_id} is in use.")
    return original(self, address, allocation_id)
