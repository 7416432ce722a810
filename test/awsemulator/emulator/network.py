"""Smaller gaps of moto's VPC networking: filters, tags and targets that it ignores."""

from __future__ import annotations

import inspect
import ipaddress
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models import EC2Backend
from moto.ec2.models.dhcp_options import DHCPOptionsSet
from moto.ec2.models.elastic_network_interfaces import NetworkInterface, NetworkInterfaceBackend
from moto.ec2.models.nat_gateways import NatGateway
from moto.ec2.models.security_groups import SecurityGroupRule
from moto.ec2.models.subnets import Subnet
from moto.ec2.models.vpcs import VPC
from moto.ec2.responses import EC2Response
from moto.ec2.utils import generic_filter

from . import idempotency, quotas, rules, states
from .errors import refuse
from .patching import wrap
from .sharing import interfaces_in

_DEFAULT_DHCP_OPTIONS = "dopt-00000000000000def"


@wrap(NetworkInterfaceBackend, "create_network_interface")
def _create_network_interface(
    original: Any, self: EC2Backend, subnet: Any, private_ip_address: Any, *args: Any, **kwargs: Any
) -> NetworkInterface:
    # moto draws an address from the whole subnet, or, for a NAT gateway, from anywhere.
    where = self.get_subnet(subnet) if isinstance(subnet, str) else subnet
    given = private_ip_address if isinstance(private_ip_address, str) else next(iter(private_ip_address or []), "")
    outside = given and ipaddress.ip_address(given) not in where.cidr
    if given and any(given == eni.private_ip_address for eni in interfaces_in(self, where.id)):
        raise refuse("InvalidIPAddress.InUse", f"Address {given} is in use.")
    if outside or not (private_ip_address or (args and args[0]) or kwargs.get("private_ip_addresses")):
        private_ip_address = _unused(self, where)
    return original(self, subnet, private_ip_address, *args, **kwargs)


@wrap(Subnet, "request_ip")
def _request_ip(original: Any, self: Subnet, ip: str, instance: Any) -> None:
    # moto answers with a failure of its own.
    if ip in self._subnet_ips:
        raise refuse("InvalidIPAddress.InUse", f"Address {ip} is in use.")
    original(self, ip, instance)


def _unused(backend: EC2Backend, subnet: Any) -> str:
    """Give the last address of a subnet that nothing has; instances get the first."""
    used = {str(eni.private_ip_address) for eni in interfaces_in(backend, subnet.id)}
    for number in range(int(subnet.cidr.broadcast_address) - 1, int(subnet.cidr.network_address) + 3, -1):
        address = str(ipaddress.ip_address(number))
        if address not in used:
            return address
    raise refuse("InsufficientFreeAddressesInSubnet", f"There are no free addresses in subnet '{subnet.id}'.")


_WITH_PORTS = ("tcp", "udp", "icmp", "icmpv6", "6", "17", "1", "58")


@wrap(SecurityGroupRule, "__init__")
def _init_rule(original: Any, self: SecurityGroupRule, *args: Any, **kwargs: Any) -> None:
    # A protocol such as ESP has no ports; moto cannot do without.
    call = inspect.signature(original).bind(self, *args, **kwargs).arguments
    ports = call["from_port"], call["to_port"]
    if str(call["ip_protocol"]).lower() not in _WITH_PORTS:
        call["from_port"] = call["to_port"] = "0"
    original(**call)
    if ports == (None, None):
        self.from_port = self.to_port = None


@wrap(EC2Backend, "create_route")
def _create_route(original: Any, self: EC2Backend, *args: Any, **kwargs: Any) -> Any:
    nat_gateway = kwargs.get("nat_gateway_id")
    if nat_gateway and nat_gateway not in self.nat_gateways:
        raise refuse("InvalidNatGatewayID.NotFound", f"The NAT gateway '{nat_gateway}' does not exist")
    return original(self, *args, **kwargs)


@wrap(NatGateway, "__init__")
def _init_nat_gateway(original: Any, self: NatGateway, *args: Any, **kwargs: Any) -> None:
    # AWS manages the interface of a gateway: it disappears with the gateway, and nothing else can delete it.
    original(self, *args, **kwargs)
    self._eni.interface_type = "nat_gateway"
    self._eni.requester_managed = True
    self._eni.description = f"Interface for NAT Gateway {self.id}"
    backend: EC2Backend = self.ec2_backend
    attached = any(getattr(gateway.vpc, "id", "") == self.vpc_id for gateway in backend.internet_gateways.values())
    if self.connectivity_type != "private" and not attached and rules.enforced("ec2-nat-gateway-internet"):
        code, message = rules.refusal("ec2-nat-gateway-internet", self.vpc_id)
        states.life(self).final = "failed"
        self.__dict__.update(failure_code=code, failure_message=message)


@wrap(EC2Backend, "create_nat_gateway")
def _create_nat_gateway(original: Any, self: EC2Backend, subnet_id: str, *args: Any, **kwargs: Any) -> NatGateway:
    zone = self.get_subnet(subnet_id).availability_zone
    others = [
        gateway
        for gateway in self.nat_gateways.values()
        if gateway.state in ("pending", "available") and self.get_subnet(gateway.subnet_id).availability_zone == zone
    ]
    quotas.at_most("ec2-nat-gateways-per-zone", self.account_id, len(others) + 1)
    return original(self, subnet_id, *args, **kwargs)


# --- Quotas and names


@wrap(EC2Backend, "allocate_address")
def _allocate_address(original: Any, self: EC2Backend, *args: Any, **kwargs: Any) -> Any:
    quotas.at_most("ec2-addresses", self.account_id, len(self.addresses) + 1)
    return original(self, *args, **kwargs)


@wrap(EC2Response, "create_vpc")
def _create_vpc(original: Any, self: EC2Response) -> ActionResult:
    # The default VPC of the account counts, too.
    quotas.at_most("ec2-vpcs", self.current_account, len(self.ec2_backend.vpcs) + 1)
    return original(self)


@wrap(EC2Response, "create_security_group")
def _create_security_group(original: Any, self: EC2Response) -> ActionResult:
    rules.match("ec2-group-description", self._get_param("Description") or "")
    return original(self)


def _check_rule_descriptions(original: Any, self: EC2Response) -> Any:
    for permission in self._get_param("IpPermissions", []):
        for peers in permission.values():
            for peer in peers if isinstance(peers, list) else []:
                rules.match("ec2-rule-description", str(peer.get("Description") or ""))
    return original(self)


for _call in (
    "authorize_security_group_ingress",
    "authorize_security_group_egress",
    "update_security_group_rule_descriptions_ingress",
    "update_security_group_rule_descriptions_egress",
):
    wrap(EC2Response, _call)(_check_rule_descriptions)


@wrap(EC2Backend, "detach_internet_gateway")
def _detach_internet_gateway(original: Any, self: EC2Backend, internet_gateway_id: str, vpc_id: str) -> None:
    # Public addresses are unmapped when their NAT gateway, instance or load balancer is gone completely.
    gateways = [
        gateway
        for gateway in self.nat_gateways.values()
        if gateway.vpc_id == vpc_id
        and gateway.connectivity_type != "private"
        and gateway.state not in ("deleted", "failed")
    ]
    interfaces = [
        interface
        for interface in self.enis.values()
        if interface.subnet.vpc_id == vpc_id
        and (interface.instance is None or interface.instance.state != "terminated")
        and (interface.public_ip or interface.__dict__.get("_public"))
    ]
    if gateways or interfaces:
        rules.refuse("ec2-internet-gateway-in-use", vpc_id)
    original(self, internet_gateway_id, vpc_id)


idempotency.remember("create_nat_gateway")
idempotency.remember("create_route_table")


@wrap(EC2Backend, "delete_nat_gateway")
def _delete_nat_gateway(original: Any, self: EC2Backend, nat_gateway_id: str) -> Any:
    # moto keeps the interface of the gateway, which would block its subnet for ever, and the association of its
    # address.
    if nat_gateway_id not in self.nat_gateways:
        raise refuse("NatGatewayNotFound", f"The NAT gateway '{nat_gateway_id}' does not exist")
    nat = original(self, nat_gateway_id)
    self.enis.pop(nat._eni.id, None)
    for used in nat.address_set:
        for address in self.addresses:
            if address.allocation_id == used.get("allocationId"):
                address.eni = address.association_id = None
    return nat


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


@wrap(VPC, "dhcp_options_id")
def _dhcp_options_id(_: Any, self: VPC) -> str:
    return self.dhcp_options.id if self.dhcp_options else _DEFAULT_DHCP_OPTIONS


VPC.dhcp_options_id = property(VPC.dhcp_options_id)  # type: ignore[assignment,arg-type]


@wrap(EC2Backend, "describe_dhcp_options")
def _describe_dhcp_options(
    original: Any, self: EC2Backend, dhcp_options_ids: list[str] | None = None, filters: Any = None
) -> list[DHCPOptionsSet]:
    # Every region has a set that new VPCs use. moto calls it "default" and then does not find it.
    others = [i for i in dhcp_options_ids or [] if i != _DEFAULT_DHCP_OPTIONS]
    found: list[DHCPOptionsSet] = original(self, others, filters) if others or not dhcp_options_ids else []
    if not dhcp_options_ids or _DEFAULT_DHCP_OPTIONS in dhcp_options_ids:
        found = found + generic_filter(filters, [_default_dhcp_options(self)])
    return found


def _default_dhcp_options(backend: EC2Backend) -> DHCPOptionsSet:
    region = backend.region_name
    domain = "ec2.internal" if region == "us-east-1" else f"{region}.compute.internal"
    # moto declares a domain name as a string and keeps a list.
    options = DHCPOptionsSet(backend, ["AmazonProvidedDNS"], [domain])  # type: ignore[arg-type]
    options.id = _DEFAULT_DHCP_OPTIONS
    return options
