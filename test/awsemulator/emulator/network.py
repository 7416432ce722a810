"""Smaller gaps of moto's VPC networking: filters, tags and targets that it ignores."""

from __future__ import annotations

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models import EC2Backend
from moto.ec2.models.dhcp_options import DHCPOptionsSet
from moto.ec2.responses import EC2Response

from .errors import refuse
from .patching import wrap


@wrap(EC2Backend, "create_route")
def _create_route(original: Any, self: EC2Backend, *args: Any, **kwargs: Any) -> Any:
    nat_gateway = kwargs.get("nat_gateway_id")
    if nat_gateway and nat_gateway not in self.nat_gateways:
        raise refuse("InvalidNatGatewayID.NotFound", f"The NAT gateway '{nat_gateway}' does not exist")
    return original(self, *args, **kwargs)


@wrap(EC2Backend, "describe_nat_gateways")
def _describe_nat_gateways(original: Any, self: EC2Backend, filters: Any, nat_gateway_ids: list[str] | None) -> Any:
    found = original(self, filters, nat_gateway_ids)
    for name, values in (filters or {}).items():
        if name.startswith("tag:"):
            found = [n for n in found if self.tags.get(n.id, {}).get(name.removeprefix("tag:")) in values]
    return found


@wrap(EC2Response, "create_dhcp_options")
def _create_dhcp_options(original: Any, self: EC2Response) -> ActionResult:
    answer: ActionResult = original(self)
    options: DHCPOptionsSet = answer.result["DhcpOptions"]  # type: ignore[index]
    options.add_tags(self._parse_tag_specification().get("dhcp-options", {}))
    return answer
