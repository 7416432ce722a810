"""Route53's rules for zones and records, and zones shared between accounts."""

from __future__ import annotations

import copy
import ipaddress
from typing import Any

from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.ec2.models import ec2_backends
from moto.moto_api._internal import mock_random
from moto.route53 import urls
from moto.route53.exceptions import InvalidVPCId, Route53ClientError
from moto.route53.models import FakeZone, HostedZoneIdentifier, RecordSet, Route53Backend, route53_backends
from moto.route53.responses import Route53
from moto.route53.utils import validate_domain_name

from . import rules, states
from .patching import add, wrap

_authorized: set[tuple[str, str]] = set()  # zone id, VPC id
_changes: dict[str, float] = {}  # change id -> when it was made


def reset() -> None:
    """Forget authorizations and changes."""
    _authorized.clear()
    _changes.clear()


# --- Zones


@wrap(HostedZoneIdentifier, "generate")
def _zone_id(original: Any, self: HostedZoneIdentifier, *args: Any, **kwargs: Any) -> str:
    # Ids of zones begin with Z. The CRDs have a rule for it.
    return "Z" + original(self, *args, **kwargs)[1:]


@wrap(Route53, "create_hosted_zone")
def _with_vpc(original: Any, self: Route53) -> ActionResult:
    # A zone with a VPC is private, whether the request has the flag or not.
    if self._get_param("VPC.VPCId"):
        self.params["HostedZoneConfig"] = (self._get_param("HostedZoneConfig") or {}) | {"PrivateZone": True}
    return original(self)


@wrap(Route53Backend, "create_hosted_zone")
def _create_zone(original: Any, self: Route53Backend, name: str, *args: Any, **kwargs: Any) -> FakeZone:
    vpc = kwargs.get("vpcid")
    if any(zone.caller_reference == kwargs.get("caller_reference") for zone in self.zones.values()):
        raise Route53ClientError("HostedZoneAlreadyExists", "A zone was created with this caller reference before.")
    if not kwargs.get("private_zone") and rules.matches("route53-reserved-names", _absolute(name)):
        rules.refuse("route53-reserved-names", name)
    if kwargs.get("private_zone") and vpc:
        if _owner_of_vpc(vpc) != self.account_id:
            raise InvalidVPCId()
        _refuse_second_zone(name, vpc)
    zone = original(self, name, *args, **kwargs)
    for record in zone.rrsets:
        if record.type == "SOA":
            # moto writes a mailbox of its own.
            record.records = [_value(r).replace(" hostmaster.example.com. ", " awsdns-hostmaster.amazon.com. ") for r in record.records]
    return zone


@wrap(Route53Backend, "associate_vpc_with_hosted_zone")
def _associate(original: Any, self: Route53Backend, zone_id: str, vpcid: str, vpcregion: str) -> FakeZone:
    backend = self
    bare = _bare(zone_id)
    if bare not in self.zones and (owner := _backend_of_zone(bare)) is not None:
        if (bare, vpcid) not in _authorized:
            raise Route53ClientError(
                "NotAuthorizedException", f"The VPC: {vpcid} has not authorized to associate with your hosted zone."
            )
        backend = owner
    if not _owner_of_vpc(vpcid):
        raise InvalidVPCId()
    zone = backend.get_hosted_zone(zone_id)
    if any(vpc["vpc_id"] == vpcid for vpc in zone.vpcs):
        return zone
    _refuse_second_zone(zone.name, vpcid)
    return original(backend, zone_id, vpcid, vpcregion)


@wrap(Route53Backend, "list_hosted_zones_by_vpc")
def _zones_of_vpc(_: Any, self: Route53Backend, vpc_id: str) -> list[dict[str, Any]]:
    # A VPC's owner also sees zones of other accounts that are associated with it.
    return [
        {
            "HostedZoneId": zone.resource_id,
            "Name": zone.name,
            "Owner": {"OwningAccount": backend.account_id},
        }
        for backend in _backends()
        for zone in backend.zones.values()
        if zone.private_zone and any(vpc["vpc_id"] == vpc_id for vpc in zone.vpcs)
    ]


@add(Route53, "create_vpc_association_authorization")
def _authorize(self: Route53) -> ActionResult:
    zone, vpc = self.backend.get_hosted_zone(self._get_param("HostedZoneId")), self._get_param("VPC")
    _authorized.add((zone.resource_id, vpc["VPCId"]))
    return ActionResult({"HostedZoneId": zone.resource_id, "VPC": vpc})


@add(Route53, "delete_vpc_association_authorization")
def _unauthorize(self: Route53) -> ActionResult:
    zone, vpc = self.backend.get_hosted_zone(self._get_param("HostedZoneId")), self._get_param("VPC")
    if (zone.resource_id, vpc["VPCId"]) not in _authorized:
        raise Route53ClientError("VPCAssociationAuthorizationNotFound", "There is no such authorization.")
    _authorized.discard((zone.resource_id, vpc["VPCId"]))
    return ActionResult({})


@add(Route53, "list_vpc_association_authorizations")
def _authorizations(self: Route53) -> ActionResult:
    zone = self.backend.get_hosted_zone(self._get_param("HostedZoneId"))
    vpcs = [{"VPCId": vpc} for zone_id, vpc in sorted(_authorized) if zone_id == zone.resource_id]
    return ActionResult({"HostedZoneId": zone.resource_id, "VPCs": vpcs})


for _path in ("authorizevpcassociation", "deauthorizevpcassociation"):
    urls.url_paths[rf"{{0}}/(?P<api_version>[\d_-]+)/hostedzone/(?P<zone_id>[^/]+)/{_path}/?$"] = Route53.dispatch


# --- Records


def _resource_records(self: RecordSet) -> list[dict[str, str]] | None:
    # moto stores the SOA record of a new zone in another shape than all others.
    return [{"Value": _value(record)} for record in self.records] if self.records else None


RecordSet.resource_records = property(_resource_records)  # type: ignore[method-assign,assignment]


@wrap(Route53Backend, "change_resource_record_sets")
def _change_records(_: Any, self: Route53Backend, zoneid: str, change_list: list[dict[str, Any]]) -> None:
    # moto's own checks a DELETE against a journal of changes, not against the records.
    zone = self.get_hosted_zone(zoneid)
    for change in change_list:
        record = change["ResourceRecordSet"]
        validate_domain_name(record["Name"], code="InvalidChangeBatch")
        record["Name"] = record["Name"].replace("\\052", "*").lower()
        if not f".{record['Name'].strip('.')}".endswith(f".{zone.name.strip('.')}"):
            raise _invalid(f"RRSet with DNS name {record['Name']} is not permitted in zone {zone.name}")
    after = zone.rrsets
    for change in change_list:
        after = _apply(after, change["Action"], change["ResourceRecordSet"])
    zone.rrsets = after


def _apply(records: list[RecordSet], action: str, wanted: dict[str, Any]) -> list[RecordSet]:
    """Apply one change to a zone's records, or refuse as Route53 does; the batch is all or nothing."""
    name = _absolute(wanted["Name"])
    twins = [
        r
        for r in records
        if _absolute(r.name) == name and r.type == wanted["Type"] and r.set_identifier == wanted.get("SetIdentifier")
    ]
    what = f"resource record set [name='{name}', type='{wanted['Type']}']"
    if action == "DELETE":
        if not twins:
            raise _invalid(f"Tried to delete {what} but it was not found")
        if _content(twins[0]) != _content(_record(wanted)):
            raise _invalid(f"Tried to delete {what} but the values provided do not match the current values")
        return [r for r in records if r not in twins]
    if action not in ("CREATE", "UPSERT"):
        raise Route53ClientError("InvalidInput", f"Invalid action '{action}'")
    if action == "CREATE" and twins:
        raise _invalid(f"Tried to create {what} but it already exists")
    neighbours = [r.type for r in records if _absolute(r.name) == name and r.type != wanted["Type"]]
    if neighbours and "CNAME" in (*neighbours, wanted["Type"]):
        raise _invalid(f"RRSet of type {wanted['Type']} with DNS name {name} is not permitted: conflicts with CNAME")
    if not wanted.get("ResourceRecords") and not wanted.get("AliasTarget"):
        raise Route53ClientError("InvalidInput", "Expected one of AliasTarget, or TTL and ResourceRecords")
    if wanted["Type"] in _VERSIONS:
        for record in wanted.get("ResourceRecords") or []:
            _check_address(name, wanted["Type"], _value(record))
    made = _record(wanted | {"Name": name})
    return [r for r in records if r not in twins] + [made]


_VERSIONS = {"A": 4, "AAAA": 6}


def _check_address(name: str, kind: str, value: str) -> None:
    try:
        if ipaddress.ip_address(value).version == _VERSIONS[kind]:
            return
    except ValueError:
        pass
    rules.refuse("route53-address" if kind == "A" else "route53-ipv6-address", name)


@wrap(Route53, "list_resource_record_sets")
def _list_records(original: Any, self: Route53) -> ActionResult:
    answer = original(self)
    shown = []
    for record in answer.result["ResourceRecordSets"]:
        escaped = copy.copy(record)
        escaped.name = record.name.replace("*", "\\052")
        shown.append(escaped)
    answer.result["ResourceRecordSets"] = shown
    return answer


@wrap(Route53Backend, "list_resource_record_sets")
def _list_from(
    original: Any, self: Route53Backend, zone_id: str, start_type: str, start_name: str, max_items: int
) -> Any:
    if start_name:
        start_name = _absolute(start_name.replace("\\052", "*"))
    return original(self, zone_id, start_type, start_name, max_items)


# --- Changes take a moment


def _change(original: Any, self: Route53) -> ActionResult:
    answer = original(self)
    change = f"/change/C{mock_random.get_random_hex(20).upper()}"
    _changes[change] = states.now()
    answer.result["ChangeInfo"] |= {"Id": change, "Status": "PENDING"}
    return answer


for _call in (
    "change_resource_record_sets",
    "create_hosted_zone",
    "delete_hosted_zone",
    "associate_vpc_with_hosted_zone",
    "disassociate_vpc_from_hosted_zone",
):
    wrap(Route53, _call)(_change)


@wrap(Route53, "get_change")
def _get_change(_: Any, self: Route53) -> ActionResult:
    change = "/change/" + self._get_param("Id").removeprefix("/change/")
    if change not in _changes:
        raise Route53ClientError("NoSuchChange", f"Could not find resource with ID: {change}")
    done = states.now() - _changes[change] >= states.delays["route53.change"]
    info = {"Id": change, "Status": "INSYNC" if done else "PENDING", "SubmittedAt": utcnow()}
    return ActionResult({"ChangeInfo": info})


# --- Small things


def _invalid(message: str) -> Route53ClientError:
    return Route53ClientError("InvalidChangeBatch", f"[{message}]")


def _record(description: dict[str, Any]) -> RecordSet:
    return RecordSet(description)  # type: ignore[abstract] # abstract for CloudFormation only


def _value(record: Any) -> str:
    return record["Value"] if isinstance(record, dict) else record


def _content(record: RecordSet) -> tuple[Any, ...]:
    return sorted(map(_value, record.records or [])), str(record.ttl), record.alias_target


def _absolute(name: str) -> str:
    return name.strip(".").lower() + "."


def _bare(zone_id: str) -> str:
    return zone_id.replace("/hostedzone/", "")


def _backends() -> list[Route53Backend]:
    return [backend for partitions in list(route53_backends.values()) for backend in list(partitions.values())]


def _backend_of_zone(zone_id: str) -> Route53Backend | None:
    return next((backend for backend in _backends() if zone_id in backend.zones), None)


def _owner_of_vpc(vpc_id: str) -> str:
    for account, regions in list(ec2_backends.items()):
        if any(vpc_id in backend.vpcs for backend in list(regions.values())):
            return account
    return ""


def _refuse_second_zone(name: str, vpc_id: str) -> None:
    for backend in _backends():
        for zone in backend.zones.values():
            if _absolute(zone.name) == _absolute(name) and any(v["vpc_id"] == vpc_id for v in zone.vpcs):
                raise Route53ClientError(
                    "ConflictingDomainExists",
                    f"The VPC {vpc_id} is already associated with another hosted zone with the same domain name.",
                )
