"""Zone names that mean different zones in different accounts.

AWS shuffles the names: us-east-1a of one account is another building than
us-east-1a of the next; only the zone id (use1-az4) is the same for all. Code
that compares names across accounts works with plain moto and fails in AWS, so
each account gets its own order, the same in each run, derived from its id.
"""

from __future__ import annotations

import functools
import inspect
import random
from typing import Any

from moto.ec2.models import EC2Backend
from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend, Zone
from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS
from moto.ec2.models.subnets import Subnet
from moto.utilities.utils import filter_resources

from .patching import wrap

_chosen: dict[str, dict[str, str]] = {}

_FILTERS = (
    ("zone-id", "zone_id"),
    ("zone-type", "zone_type"),
    ("zone-name", "name"),
    ("region-name", "region_name"),
    ("state", "state"),
)


def choose(account: str, ids_by_name: dict[str, str]) -> None:
    """Fix the zone ids of an account; names that are left out keep their shuffled id."""
    _chosen[account] = dict(ids_by_name)


def reset() -> None:
    """Forget the chosen ids."""
    _chosen.clear()


def zone_id(account: str, name: str) -> str:
    """Give the id of the zone that the account calls name."""
    if name in _chosen.get(account, {}):
        return _chosen[account][name]
    return _shuffled(account, name[:-1]).get(name, "")


@functools.cache
def _shuffled(account: str, region: str) -> dict[str, str]:
    # A zone without current instance types keeps its name: tests that name the first zones start instances there.
    zones = RegionsAndZonesBackend.zones.get(region, [])
    shuffled = [zone for zone in zones if offers(zone.zone_id, region, "m5.large")]
    ids = [zone.zone_id for zone in shuffled]
    random.Random(f"{account}/{region}").shuffle(ids)
    return {zone.name: zone.zone_id for zone in zones} | dict(zip([zone.name for zone in shuffled], ids, strict=True))


@wrap(EC2Backend, "describe_availability_zones")
def _describe_availability_zones(
    _: Any,
    self: EC2Backend,
    filters: Any = None,
    zone_names: list[str] | None = None,
    zone_ids: list[str] | None = None,
) -> list[Zone]:
    zones = [
        Zone(z.name, z.region_name, zone_id(self.account_id, z.name), z.zone_type)
        for z in RegionsAndZonesBackend.zones.get(self.region_name, [])
    ]
    if filters:
        zones = filter_resources(zones, filters, _FILTERS)
    return [z for z in zones if (not zone_names or z.name in zone_names) and (not zone_ids or z.zone_id in zone_ids)]


def offers(zone: str, region: str, instance_type: str) -> bool:
    """Tell whether the zone with the id has instances of the type."""
    return instance_type in _offered(region).get(zone, ())


@functools.cache
def _offered(region: str) -> dict[str, set[str]]:
    types: dict[str, set[str]] = {}
    for offering in INSTANCE_TYPE_OFFERINGS["availability-zone-id"].get(region, []):
        types.setdefault(offering["Location"], set()).add(offering["InstanceType"])
    return types


@wrap(EC2Backend, "describe_instance_type_offerings")
def _describe_instance_type_offerings(
    original: Any, self: EC2Backend, location_type: str | None = None, filters: Any = None
) -> list[dict[str, str]]:
    # moto has the names of one account. What a zone offers depends on the zone, not on what an account calls it.
    if location_type != "availability-zone":
        return list(original(self, location_type, filters))
    found = [
        {"InstanceType": offering["InstanceType"], "Location": zone.name, "LocationType": location_type}
        for zone in self.describe_availability_zones()
        for offering in INSTANCE_TYPE_OFFERINGS["availability-zone-id"].get(self.region_name, [])
        if offering["Location"] == zone.zone_id
    ]
    return [offering for offering in found if self.matches_filters(offering, filters or {}, location_type)]


@wrap(EC2Backend, "create_subnet")
def _create_subnet(original: Any, self: EC2Backend, *args: Any, **kwargs: Any) -> Subnet:
    # moto looks a zone id up in one list for all accounts; turn it into this account's name first.
    call = inspect.signature(original).bind(self, *args, **kwargs).arguments
    wanted = call.get("availability_zone_id")
    if wanted and not call.get("availability_zone"):
        own = self.describe_availability_zones()
        call["availability_zone"] = next((z.name for z in own if z.zone_id == wanted), wanted)
        call["availability_zone_id"] = None
    return original(**call)


Subnet.availability_zone_id = property(  # type: ignore[method-assign,assignment]
    lambda self: zone_id(self.ec2_backend.account_id, self.availability_zone)
)
