"""Endpoint services: the provider's half of PrivateLink.

moto keeps service configurations; here come filters, pages, the rule of one
service per load balancer, allowed principals, and the whole connections API.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import UnknownVpcEndpointService
from moto.ec2.models import EC2Backend, ec2_backends
from moto.ec2.models.vpc_service_configuration import VPCServiceConfiguration
from moto.ec2.models.vpcs import VPCEndPoint
from moto.ec2.responses import EC2Response
from moto.elbv2.models import elbv2_backends
from moto.moto_api._internal import mock_random

from . import accounts, iam, idempotency, rules, states, zones
from .errors import refuse
from .patching import add, wrap

_CONNECTED = ("pendingAcceptance", "pending", "available")
_PRINCIPAL = re.compile(r"\*|arn:aws:iam::\d{12}:(root|(role|user)/.+)")


def find_service(region: str, name: str) -> VPCServiceConfiguration | None:
    """Find an endpoint service by its name, in any account."""
    for regions in list(ec2_backends.values()):
        if region in list(regions.keys()):
            for service in regions[region].configurations.values():
                if service.service_name == name:
                    return service
    return None


def zone_ids(service: VPCServiceConfiguration) -> list[str]:
    """Give the ids of the zones that the service's load balancers are in."""
    owner = service.ec2_backend.account_id
    return sorted({zones.zone_id(owner, name) for name in service.availability_zones})


def may_connect(service: VPCServiceConfiguration, caller: accounts.Caller) -> bool:
    """Tell whether the service's permissions let the caller make an endpoint to it."""
    if caller.account == service.ec2_backend.account_id:
        return True
    allowed = {"*", f"arn:aws:iam::{caller.account}:root", caller.arn, caller.role}
    return any(principal in allowed for principal in service.principals)


def connections(region: str, service: VPCServiceConfiguration) -> Iterator[VPCEndPoint]:
    """Walk over the endpoints of all accounts that want this service."""
    for regions in list(ec2_backends.values()):
        if region in list(regions.keys()):
            for endpoint in list(regions[region].vpc_end_points.values()):
                if endpoint.service_name == service.service_name:
                    yield endpoint


@wrap(VPCServiceConfiguration, "__init__")
def _init_service(original: Any, self: VPCServiceConfiguration, *args: Any, **kwargs: Any) -> None:
    original(self, *args, **kwargs)
    # AWS ids have 17 digits; moto's 8 would hide a parser that is too strict.
    self.id = f"vpce-svc-{mock_random.get_random_hex(17)}"
    self.service_name = f"com.amazonaws.vpce.{self.ec2_backend.region_name}.{self.id}"
    self.endpoint_dns_name = f"{self.id}.{self.ec2_backend.region_name}.vpce.amazonaws.com"
    self.availability_zones = sorted(set(self.availability_zones))
    self.supported_ip_address_types = ["ipv4"]


VPCServiceConfiguration.availability_zone_ids = property(zone_ids)  # type: ignore[attr-defined]


@wrap(EC2Backend, "create_vpc_endpoint_service_configuration")
def _create_service(original: Any, self: EC2Backend, lb_arns: list[str], *args: Any, **kwargs: Any) -> Any:
    used = {arn for service in self.configurations.values() for arn in service.network_load_balancer_arns}
    if used & set(lb_arns):
        raise refuse(
            "InvalidParameter",
            "LBs are already associated with another VPC Endpoint Service Configuration",
        )
    _check_balancers(self, lb_arns)
    return original(self, lb_arns, *args, **kwargs)


def _check_balancers(backend: EC2Backend, arns: list[str]) -> None:
    balancers = elbv2_backends[backend.account_id][backend.region_name].load_balancers
    for arn in arns:
        if arn in balancers and balancers[arn].state != "active":
            rules.refuse("privatelink-load-balancer-active", arn)


idempotency.remember("create_vpc_endpoint_service_configuration")


@wrap(EC2Response, "modify_vpc_endpoint_service_configuration")
def _modify_service(original: Any, self: EC2Response) -> ActionResult:
    service = self.ec2_backend.describe_vpc_endpoint_service_configurations([self._get_param("ServiceId")])[0]
    removed = self._get_param("RemoveSupportedRegions", [])
    if not set(removed) <= set(service._supported_region_names):
        raise refuse("InvalidParameter", "The service does not support the Region.")
    types = set(service.supported_ip_address_types) | set(self._get_param("AddSupportedIpAddressTypes", []))
    types -= set(self._get_param("RemoveSupportedIpAddressTypes", []))
    if not types:
        raise refuse("InvalidParameter", "The service must support at least one IP address type.")
    _check_balancers(self.ec2_backend, self._get_param("AddNetworkLoadBalancerArns", []))
    answer = original(self)
    service.supported_ip_address_types = sorted(types)
    if self._get_bool_param("RemovePrivateDnsName"):
        service.private_dns_name = None
    return answer


@wrap(EC2Response, "describe_vpc_endpoint_service_configurations")
def _describe_services(_: Any, self: EC2Response) -> ActionResult:
    ids = self._get_param("ServiceIds", [])
    found = self.ec2_backend.describe_vpc_endpoint_service_configurations(ids)
    found = states.visible(found, ids, UnknownVpcEndpointService)
    for name, values in self._filters_from_querystring().items():
        found = [s for s in found if _service_value(s, name, values)]
    return ActionResult({"ServiceConfigurations": found})


def _service_value(service: VPCServiceConfiguration, name: str, values: Any) -> bool:
    tags = service.ec2_backend.tags.get(service.id, {})
    if name.startswith("tag:"):
        return tags.get(name.removeprefix("tag:")) in values
    if name == "tag-key":
        return any(key in values for key in tags)
    known = {
        "service-id": service.id,
        "service-name": service.service_name,
        "service-state": service.service_state,
    }
    if name not in known:
        raise refuse("InvalidParameterValue", f"The filter '{name}' is invalid")
    return known[name] in values


@wrap(EC2Response, "delete_vpc_endpoint_service_configurations")
def _delete_services(_: Any, self: EC2Response) -> ActionResult:
    failed = []
    for service_id in self._get_param("ServiceIds", []):
        service = self.ec2_backend.configurations.get(service_id)
        if service is None:
            failed.append(
                _unsuccessful(service_id, "InvalidVpcEndpointService.NotFound", "The service does not exist.")
            )
        elif any(e.state in _CONNECTED for e in connections(self.region, service)):
            failed.append(
                _unsuccessful(
                    service_id,
                    "ExistingVpcEndpointConnections",
                    "Service has existing active VPC Endpoint connections!",
                )
            )
        else:
            del self.ec2_backend.configurations[service_id]
            self.ec2_backend.tags.pop(service_id, None)
    return ActionResult({"Unsuccessful": failed})


@wrap(EC2Response, "describe_vpc_endpoint_service_permissions")
def _describe_permissions(_: Any, self: EC2Response) -> ActionResult:
    principals = self.ec2_backend.describe_vpc_endpoint_service_permissions(self._get_param("ServiceId"))
    values = self._filters_from_querystring().get("principal")
    allowed = [{"Principal": p} for p in sorted(principals) if values is None or p in values]
    return ActionResult({"AllowedPrincipals": allowed})


@wrap(EC2Response, "modify_vpc_endpoint_service_permissions")
def _modify_permissions(original: Any, self: EC2Response) -> ActionResult:
    for principal in self._get_param("AddAllowedPrincipals", []):
        if not _PRINCIPAL.fullmatch(principal):
            raise refuse("InvalidPrincipal", f"The principal '{principal}' is invalid.")
        named = principal != "*" and not principal.endswith(":root")
        if named and ((found := iam.find_principal(principal)) is None or not iam.visible(found)):
            rules.refuse("privatelink-principal", principal)
    return original(self)


@add(EC2Response, "describe_vpc_endpoint_connections")
def _describe_connections(self: EC2Response) -> ActionResult:
    filters = dict(self._filters_from_querystring())
    known = {"service-id", "vpc-endpoint-id", "vpc-endpoint-owner", "vpc-endpoint-state"}
    if unknown := sorted(set(filters) - known):
        raise refuse("InvalidParameterValue", f"The filter '{unknown[0]}' is invalid")
    found = []
    for service in list(self.ec2_backend.configurations.values()):
        for endpoint in connections(self.region, service):
            values = {
                "service-id": service.id,
                "vpc-endpoint-id": endpoint.id,
                "vpc-endpoint-owner": endpoint.owner_id,
                "vpc-endpoint-state": endpoint.state,
            }
            if all(values[name] in wanted for name, wanted in filters.items()):
                found.append(
                    {
                        "ServiceId": service.id,
                        "VpcEndpointId": endpoint.id,
                        "VpcEndpointOwner": endpoint.owner_id,
                        "VpcEndpointState": endpoint.state,
                        "VpcEndpointRegion": self.region,
                        "CreationTimestamp": endpoint.creation_timestamp,
                        "DnsEntries": endpoint.dns_entries,
                        "NetworkLoadBalancerArns": service.network_load_balancer_arns,
                    }
                )
    return ActionResult({"VpcEndpointConnections": found})


@add(EC2Response, "accept_vpc_endpoint_connections")
def _accept(self: EC2Response) -> ActionResult:
    return _decide(self, "")


@add(EC2Response, "reject_vpc_endpoint_connections")
def _reject(self: EC2Response) -> ActionResult:
    return _decide(self, "rejected")


def _decide(self: EC2Response, state: str) -> ActionResult:
    """Put the named connections into a state; "" is the way to available."""
    service_id = self._get_param("ServiceId")
    service = self.ec2_backend.describe_vpc_endpoint_service_configurations([service_id])[0]
    endpoints = {e.id: e for e in connections(self.region, service)}
    failed = []
    for endpoint_id in self._get_param("VpcEndpointIds", []):
        if endpoint_id not in endpoints:
            failed.append(_unsuccessful(endpoint_id, "InvalidVpcEndpoint.NotFound", "The endpoint does not exist."))
        elif state or endpoints[endpoint_id].state not in ("pending", "available"):
            states.life(endpoints[endpoint_id]).force(state)
    return ActionResult({"Unsuccessful": failed})


def _unsuccessful(resource: str, code: str, message: str) -> dict[str, Any]:
    return {"ResourceId": resource, "Error": {"Code": code, "Message": message}}
