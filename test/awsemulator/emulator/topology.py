"""The network of all accounts in one answer: what carries packets, and for whom.

A network that is built from this (the lab's) needs everything at one moment, across
accounts: an endpoint of one account leads to the load balancer of another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moto.ec2.models import EC2Backend, ec2_backends
from moto.elbv2.models import FakeLoadBalancer, elbv2_backends
from moto.route53.models import route53_backends

from . import accounts, states
from .privatelink import find_service, may_connect, zone_ids


def network() -> dict[str, Any]:
    """Describe VPCs, interfaces, security groups, gateways, endpoints, load balancers and hosted zones."""
    states.sweep()
    found: dict[str, list[dict[str, Any]]] = {
        kind: [] for kind in ("vpcs", "subnets", "interfaces", "groups", "endpoints", "balancers", "zones")
    }
    for account, regions in list(ec2_backends.items()):
        for backend in list(regions.values()):
            found["vpcs"] += _vpcs(account, backend)
            found["subnets"] += _subnets(backend)
            found["interfaces"] += _interfaces(backend)
            found["groups"] += _groups(backend)
            found["endpoints"] += _endpoints(backend)
    for balancing in list(elbv2_backends.values()):
        for region in list(balancing.values()):
            found["balancers"] += [_balancer(b) for b in region.load_balancers.values() if b.type == "network"]
    for partitions in list(route53_backends.values()):
        for partition in list(partitions.values()):
            found["zones"] += [_zone(zone) for zone in partition.zones.values()]
    return found


def _vpcs(account: str, backend: EC2Backend) -> Iterator[dict[str, Any]]:
    for vpc in backend.vpcs.values():
        if vpc.is_default:
            continue
        options = vpc.dhcp_options._options if vpc.dhcp_options else {}
        yield {
            "id": vpc.id,
            "account": account,
            "cidrs": [a["cidr_block"] for a in vpc.get_cidr_block_association_set()],
            "dns": vpc.enable_dns_support,
            "dnsServers": options.get("domain-name-servers") or ["AmazonProvidedDNS"],
            "domain": (options.get("domain-name") or [""])[0],
        }


def _subnets(backend: EC2Backend) -> Iterator[dict[str, Any]]:
    for subnets in backend.subnets.values():
        for subnet in subnets.values():
            yield {
                "id": subnet.id,
                "vpc": subnet.vpc_id,
                "cidr": subnet.cidr_block,
                "zoneID": subnet.availability_zone_id,
                "internet": _internet(backend, subnet),
            }


def _internet(backend: EC2Backend, subnet: Any) -> str:
    """Tell how the subnet reaches the internet: "gateway" (with a public address), "nat", or not at all."""
    route = _default_route(backend, subnet)
    if route is None:
        return ""
    if route.nat_gateway is not None:
        nat = backend.nat_gateways.get(route.nat_gateway.id)
        if nat is None or nat.state != "available":
            return ""
        beyond = _default_route(backend, backend.get_subnet(nat.subnet_id))
        return "nat" if beyond is not None and _attached(backend, beyond, subnet.vpc_id) else ""
    return "gateway" if _attached(backend, route, subnet.vpc_id) else ""


def _default_route(backend: EC2Backend, subnet: Any) -> Any:
    tables = [t for t in backend.route_tables.values() if t.vpc_id == subnet.vpc_id]
    own = [t for t in tables if subnet.id in t._associations.values()]
    for table in own or [t for t in tables if t.main_association_id is not None]:
        for route in table.routes:
            if route.destination_cidr_block == "0.0.0.0/0":
                return route
    return None


def _attached(backend: EC2Backend, route: Any, vpc_id: str) -> bool:
    gateway = backend.internet_gateways.get(getattr(route.gateway, "id", ""))
    return gateway is not None and getattr(gateway.vpc, "id", "") == vpc_id


def _interfaces(backend: EC2Backend) -> Iterator[dict[str, Any]]:
    for eni in backend.enis.values():
        instance = eni.instance
        if "_leaves" in eni.__dict__:
            continue
        if instance is not None and instance.state not in ("pending", "running"):
            continue
        options = getattr(instance, "metadata_options", None)
        yield {
            "id": eni.id,
            "vpc": eni.subnet.vpc_id,
            "subnet": eni.subnet.id,
            "address": eni.private_ip_address,
            "public": bool(eni.public_ip),
            "groups": sorted(group.id for group in eni.group_set),
            "kind": eni.interface_type,
            "instance": instance.id if instance is not None else "",
            "description": eni.description or "",
            "hopLimit": getattr(options, "http_put_response_hop_limit", 1),
            "metadata": getattr(options, "http_endpoint", "enabled") != "disabled",
            "tokensRequired": getattr(options, "http_tokens", "optional") == "required",
        }


def _groups(backend: EC2Backend) -> Iterator[dict[str, Any]]:
    for groups in backend.groups.values():
        for group in groups.values():
            yield {
                "id": group.id,
                "vpc": group.vpc_id,
                "ingress": [_rule(r) for r in group.ingress_rules],
                "egress": [_rule(r) for r in group.egress_rules],
            }


def _rule(rule: Any) -> dict[str, Any]:
    return {
        "protocol": rule.ip_protocol,
        "from": -1 if rule.from_port is None else rule.from_port,
        "to": -1 if rule.to_port is None else rule.to_port,
        "cidr": rule.ip_range.get("CidrIp", ""),
        "group": rule.source_group.get("GroupId", ""),
    }


def _endpoints(backend: EC2Backend) -> Iterator[dict[str, Any]]:
    for endpoint in backend.vpc_end_points.values():
        if endpoint.vpc_endpoint_type != "Interface":
            continue
        service = find_service(backend.region_name, endpoint.service_name)
        caller = endpoint.__dict__.get("_caller") or accounts.Caller(
            backend.account_id, f"arn:aws:iam::{backend.account_id}:root"
        )
        yield {
            "id": endpoint.id,
            "vpc": endpoint.vpc_id,
            "state": endpoint.state,
            "allowed": service is not None and may_connect(service, caller),
            "balancers": list(service.network_load_balancer_arns) if service is not None else [],
            "zoneIDs": zone_ids(service) if service is not None else [],
            "interfaces": list(endpoint.network_interface_ids),
            "names": [entry["DnsName"] for entry in endpoint.dns_entries or []],
        }


def _balancer(balancer: FakeLoadBalancer) -> dict[str, Any]:
    return {
        "arn": balancer.arn,
        "host": balancer.dns_name,
        "vpc": balancer.vpc_id,
        "active": balancer.state == "active",
        "internal": balancer.scheme == "internal",
        "crossZone": balancer.attrs.get("load_balancing.cross_zone.enabled") == "true",
        "zoneIDs": sorted(subnet.availability_zone_id for subnet in balancer.subnets),
    }


def _zone(zone: Any) -> dict[str, Any]:
    return {
        "name": zone.name,
        "private": zone.private_zone,
        "vpcs": [v["vpc_id"] for v in zone.vpcs],
        "records": [
            {
                "name": r.name,
                "type": r.type,
                "values": [v["Value"] for v in r.resource_records or []],
                "alias": (r.alias_target or {}).get("DNSName", ""),
            }
            for r in zone.rrsets
            if r.type not in ("NS", "SOA")
        ],
    }
