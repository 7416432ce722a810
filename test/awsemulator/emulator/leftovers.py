"""Everything that an account owns beyond what AWS gives to a new account.

A test that says "nothing is left" compares this list, so it must be wide: a kind
of resource that is missing here can leak unseen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moto.ec2.models import EC2Backend, ec2_backends
from moto.elb.models import elb_backends
from moto.elbv2.models import elbv2_backends
from moto.iam.models import iam_backends
from moto.ram.models import ram_backends
from moto.route53.models import route53_backends
from moto.s3.models import s3_backends

from . import states


def of(account: str) -> list[dict[str, str]]:
    """List the account's resources, each with kind, id, a name for people, and its state."""
    states.sweep()
    found: list[dict[str, str]] = []
    for region in _backends(ec2_backends, account):
        found += _ec2(region)
    for region in _backends(elbv2_backends, account):
        found += [_item("load-balancer", b.arn, b.name, b.state) for b in region.load_balancers.values()]
        found += [_item("target-group", t.arn, t.name) for t in region.target_groups.values()]
    for region in _backends(elb_backends, account):
        found += [_item("classic-load-balancer", b.name) for b in region.load_balancers.values()]
    for region in _backends(ram_backends, account):
        shares = [s for s in region.resource_shares if s.status not in ("DELETING", "DELETED")]
        found += [_item("resource-share", s.arn, s.name, s.status) for s in shares]
    for partition in _backends(route53_backends, account):
        found += _route53(partition)
    for partition in _backends(s3_backends, account):
        for bucket in partition.buckets.values():
            found.append(_item("bucket", bucket.name))
            found += [_item("object", f"{bucket.name}/{key}") for key in bucket.keys]
    for partition in _backends(iam_backends, account):
        found += [_item("role", r.arn) for r in partition.roles.values()]
        found += [_item("instance-profile", p.arn) for p in partition.instance_profiles.values()]
        found += [_item("oidc-provider", arn) for arn in partition.open_id_providers]
    return sorted(found, key=lambda item: (item["kind"], item["id"]))


def _backends(services: Any, account: str) -> list[Any]:
    return list(services[account].values()) if account in list(services.keys()) else []


def _item(kind: str, resource_id: str, name: str = "", state: str = "") -> dict[str, str]:
    return {"kind": kind, "id": resource_id, "name": name, "state": state}


def _route53(backend: Any) -> Iterator[dict[str, str]]:
    for zone in backend.zones.values():
        yield _item("hosted-zone", zone.resource_id, zone.name)
        for record in zone.rrsets:
            if record.type not in ("NS", "SOA"):
                yield _item("record", f"{zone.resource_id}/{record.name}/{record.type}", record.name)


def _ec2(backend: EC2Backend) -> Iterator[dict[str, str]]:
    default_vpcs = {vpc.id for vpc in backend.vpcs.values() if vpc.is_default}

    def item(kind: str, resource: Any, name: str = "", state: str = "") -> dict[str, str]:
        return _item(kind, resource.id, name or backend.tags.get(resource.id, {}).get("Name", ""), state)

    yield from (item("vpc", v) for v in backend.vpcs.values() if v.id not in default_vpcs)
    for subnets in backend.subnets.values():
        yield from (item("subnet", s) for s in subnets.values() if s.vpc_id not in default_vpcs)
    for groups in backend.groups.values():
        yield from (item("security-group", g, g.name) for g in groups.values() if g.name != "default")
    for table in backend.route_tables.values():
        if table.vpc_id not in default_vpcs and table.main_association_id is None:
            yield item("route-table", table)
    yield from (item("internet-gateway", g) for g in backend.internet_gateways.values())
    yield from (item("nat-gateway", n, "", n.state) for n in backend.nat_gateways.values() if n.state != "deleted")
    yield from (_item("address", a.allocation_id or a.public_ip) for a in backend.addresses)
    yield from (item("dhcp-options", d) for d in backend.dhcp_options_sets.values())
    yield from (item("vpc-endpoint", e, e.service_name, e.state) for e in backend.vpc_end_points.values())
    yield from (item("endpoint-service", s, s.service_name) for s in backend.configurations.values())
    for reservation in backend.reservations.values():
        for instance in reservation.instances:
            if instance.state != "terminated":
                yield item("instance", instance, "", instance.state)
    for eni in backend.enis.values():
        leaving = "_leaves" in eni.__dict__  # AWS deletes it, after its load balancer
        if not leaving and (eni.instance is None or eni.instance.state != "terminated"):
            yield item("network-interface", eni, eni.description)
    yield from (item("launch-template", t, t.name) for t in backend.launch_templates.values())
    yield from (item("volume", v, "", v.status) for v in backend.volumes.values())
