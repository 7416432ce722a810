"""VPC endpoints: the customer's half of PrivateLink.

moto accepts any service name, subnet and security group, and makes DNS names
and network interfaces once. Here an endpoint is checked when it is made and
when it is changed, and its interfaces and names follow its subnets.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import InvalidRouteError, InvalidVpcEndPointIdError
from moto.ec2.models import EC2Backend
from moto.ec2.models.vpcs import VPCEndPoint
from moto.ec2.responses import EC2Response
from moto.moto_api._internal import mock_random

from . import accounts, idempotency, states
from .errors import refuse
from .patching import wrap
from .privatelink import find_service, may_connect, zone_ids

_HOSTED_ZONE = "Z7HUB22UULQXV"


@wrap(EC2Response, "create_vpc_endpoint")
def _create(original: Any, self: EC2Response) -> ActionResult:
    service_name = self._get_param("ServiceName")
    # AWS makes a gateway endpoint when no type is given; moto leaves the type
    # empty and later fails to delete the endpoint.
    self.params["VpcEndpointType"] = self._get_param("VpcEndpointType") or "Gateway"
    if self.params["VpcEndpointType"] != "Interface":
        # Private DNS is an attribute of interface endpoints. moto's default is true for all.
        self.params["PrivateDnsEnabled"] = False
        return original(self)

    subnets = self._get_param("SubnetIds", [])
    groups = self._get_param("SecurityGroupIds", [])
    backend: EC2Backend = self.ec2_backend
    vpc = backend.get_vpc(self._get_param("VpcId"))
    service, caller = None, accounts.find(self.access_key)
    if ".vpce-svc-" in service_name:
        service = find_service(self.region, service_name)
        if service is None or caller is None or not may_connect(service, caller):
            raise refuse("InvalidServiceName", f"The Vpc Endpoint Service '{service_name}' does not exist")
    _check_subnets(backend, vpc.id, service, subnets)
    _check_groups(backend, vpc.id, groups)
    if not groups:
        default = backend.get_security_group_from_name("default", vpc.id)
        groups = [default.id] if default else []

    endpoint = backend.create_vpc_endpoint(
        vpc_id=vpc.id,
        service_name=service_name,
        endpoint_type="Interface",
        policy_document=self._get_param("PolicyDocument"),
        route_table_ids=[],
        subnet_ids=[],  # moto would make interfaces that nobody can tell apart
        client_token=self._get_param("ClientToken"),
        security_group_ids=list(groups),
        tags=self._parse_tag_specification().get("vpc-endpoint", {}),
        # moto's default is true; the API's is false.
        private_dns_enabled=self._get_bool_param("PrivateDnsEnabled", False),
    )
    endpoint.subnet_ids = list(subnets)
    endpoint.ip_address_type = "ipv4"
    endpoint.__dict__["_caller"] = caller
    _follow_subnets(backend, endpoint)
    if service is not None and service.acceptance_required:
        states.life(endpoint).force("pendingAcceptance")
    return ActionResult({"VpcEndpoint": endpoint})


idempotency.remember("create_vpc_endpoint")


@wrap(EC2Response, "modify_vpc_endpoint")
def _modify(original: Any, self: EC2Response) -> ActionResult:
    backend: EC2Backend = self.ec2_backend
    endpoint = backend.describe_vpc_endpoints([self._get_param("VpcEndpointId")])[0]
    if endpoint.state == "deleting":
        raise refuse("InvalidVpcEndpointState", f"The endpoint {endpoint.id} is being deleted.")
    if endpoint.vpc_endpoint_type == "Interface":
        present = endpoint.subnet_ids or []
        added = [s for s in self._get_param("AddSubnetIds", []) if s not in present]
        kept = [s for s in present if s not in self._get_param("RemoveSubnetIds", [])]
        service = find_service(self.region, endpoint.service_name)
        _check_subnets(backend, endpoint.vpc_id, service, kept + added)
        _check_groups(backend, endpoint.vpc_id, self._get_param("AddSecurityGroupIds", []))
        _check_settings(self, service)
    answer = original(self)
    _set(self, endpoint)
    if endpoint.vpc_endpoint_type == "Interface":
        _follow_subnets(backend, endpoint)
    else:
        _follow_route_tables(backend, endpoint)
    return answer


def _follow_route_tables(backend: EC2Backend, endpoint: VPCEndPoint) -> None:
    """Give the route tables of a gateway endpoint their route, and take it from others. moto does it at the creation only."""
    destination = endpoint.destination_prefix_list_id
    for table in backend.describe_route_tables(filters={"vpc-id": [endpoint.vpc_id]}):
        has = destination in [route.destination_prefix_list_id for route in table.routes]
        if table.id in endpoint.route_table_ids and not has:
            backend.create_route(table.id, None, gateway_id=endpoint.id, destination_prefix_list_id=destination)
        elif table.id not in endpoint.route_table_ids and has:
            # Another request deletes the same endpoint.
            with contextlib.suppress(InvalidRouteError):
                backend.delete_route(table.id, destination)


@wrap(EC2Response, "describe_vpc_endpoints")
def _describe(_: Any, self: EC2Response) -> ActionResult:
    ids = self._get_param("VpcEndpointIds", [])
    found = self.ec2_backend.describe_vpc_endpoints(vpc_end_point_ids=ids, filters=self._filters_from_querystring())
    return ActionResult({"VpcEndpoints": states.visible(found, ids, InvalidVpcEndPointIdError)})


@wrap(EC2Response, "delete_vpc_endpoints")
def _delete(_: Any, self: EC2Response) -> ActionResult:
    backend: EC2Backend = self.ec2_backend
    failed = []
    for endpoint_id in self._get_param("VpcEndpointIds", []):
        endpoint = backend.vpc_end_points.get(endpoint_id)
        if endpoint is None:
            code = "InvalidVpcEndpoint.NotFound"
            message = f"The VpcEndPoint Id '{endpoint_id}' does not exist"
            failed.append({"ResourceId": endpoint_id, "Error": {"Code": code, "Message": message}})
        elif endpoint.vpc_endpoint_type == "Interface":
            # The interfaces stay until the endpoint is gone: they are what keeps
            # the security group in use. moto's own delete drops them at once.
            endpoint.state = "deleted"
        else:
            # moto fails if a route is gone, as when a client without an answer repeats its call.
            endpoint.route_table_ids = []
            _follow_route_tables(backend, endpoint)
            endpoint.state = "deleted"
    return ActionResult({"Unsuccessful": failed})


@wrap(VPCEndPoint, "get_filter_value")
def _filter_value(original: Any, self: VPCEndPoint, filter_name: str, method_name: str | None = None) -> Any:
    known = {"vpc-endpoint-id": self.id, "service-name": self.service_name, "vpc-id": self.vpc_id}
    return known[filter_name] if filter_name in known else original(self, filter_name, method_name)


def _check_subnets(backend: EC2Backend, vpc_id: str, service: Any, subnet_ids: list[str]) -> None:
    zones: set[str] = set()
    for subnet in [backend.get_subnet(s) for s in subnet_ids]:
        if subnet.vpc_id != vpc_id:
            raise refuse("InvalidParameter", f"The subnet ID '{subnet.id}' does not belong to VPC '{vpc_id}'.")
        if subnet.availability_zone in zones:
            raise refuse(
                "DuplicateSubnetsInSameZone",
                f"Found another VPC endpoint subnet in the availability zone of {subnet.id}",
            )
        zones.add(subnet.availability_zone)
        if service is not None and subnet.availability_zone_id not in zone_ids(service):
            raise refuse(
                "InvalidParameter",
                f"The VPC endpoint service {service.service_name} does not support "
                f"the availability zone of the subnet: {subnet.id}.",
            )


def _check_groups(backend: EC2Backend, vpc_id: str, group_ids: list[str]) -> None:
    for group_id in group_ids:
        group = backend.get_security_group_from_id(group_id)
        if group is None:
            raise refuse("InvalidGroup.NotFound", f"The security group '{group_id}' does not exist")
        if group.vpc_id != vpc_id:
            raise refuse("InvalidParameter", f"Security group {group_id} does not belong to VPC {vpc_id}.")


def _check_settings(self: EC2Response, service: Any) -> None:
    if self._get_bool_param("PrivateDnsEnabled") and not (service and service.private_dns_name):
        raise refuse("InvalidParameter", "Private DNS can't be enabled: the service has no private DNS name.")
    offered = set(service.supported_ip_address_types) if service else {"ipv4"}
    wanted = self._get_param("IpAddressType") or "ipv4"
    if not ({"ipv4", "ipv6"} if wanted == "dualstack" else {wanted}) <= offered:
        raise refuse("InvalidParameter", f"The service does not support the IP address type {wanted}.")


def _set(self: EC2Response, endpoint: VPCEndPoint) -> None:
    """Change the settings that moto does not know."""
    if self._get_param("PrivateDnsEnabled") is not None:
        endpoint.private_dns_enabled = self._get_bool_param("PrivateDnsEnabled")
    if self._get_param("IpAddressType"):
        endpoint.ip_address_type = self._get_param("IpAddressType")
    if self._get_bool_param("ResetPolicy"):
        endpoint.policy_document = json.dumps(VPCEndPoint.DEFAULT_POLICY)


def _follow_subnets(backend: EC2Backend, endpoint: VPCEndPoint) -> None:
    """Give the endpoint one interface per subnet, its groups on each, and one DNS name per zone."""
    enis = {backend.enis[i].subnet.id: backend.enis[i] for i in endpoint.network_interface_ids if i in backend.enis}
    for subnet_id in set(enis) - set(endpoint.subnet_ids or []):
        backend.enis.pop(enis.pop(subnet_id).id)
    for subnet_id in endpoint.subnet_ids or []:
        if subnet_id not in enis:
            eni = backend.create_network_interface(subnet_id, "", description=f"VPC Endpoint Interface {endpoint.id}")
            eni.interface_type = "vpc_endpoint"
            eni.requester_managed = True
            enis[subnet_id] = eni
        enis[subnet_id]._group_set = [backend.get_security_group_from_id(g) for g in endpoint.security_group_ids]
    endpoint.network_interface_ids = [enis[s].id for s in endpoint.subnet_ids or []]

    prefix = endpoint.__dict__.setdefault("_dns_prefix", f"{endpoint.id}-{mock_random.get_random_hex(8)}")
    service = endpoint.service_name.split(".")[-1]
    domain = f"{service}.{backend.region_name}.vpce.amazonaws.com"
    zones = [backend.get_subnet(s).availability_zone for s in endpoint.subnet_ids or []]
    names = [f"{prefix}.{domain}"] + [f"{prefix}-{zone}.{domain}" for zone in zones]
    endpoint.dns_entries = [{"DnsName": name, "HostedZoneId": _HOSTED_ZONE} for name in names]
