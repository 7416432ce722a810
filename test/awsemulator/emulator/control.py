"""/emulator/...: how a test steers the emulator and looks into it.

GET  calls?since=N         the calls from number N on, as JSON lines
GET  calls?account=ID      the calls of one account
GET  accounts              everything that each account owns
GET  accounts?account=ID   the same of one account
GET  network               the network of all accounts, as topology.py describes it
GET  faults?account=ID     the faults for that account alone that no call has used up
GET  delays                the delays, in seconds
POST delays                change some
POST rules                 {id: false}: do not enforce a rule of the table, or enforce it again
POST faults                add one fault, or a list
POST forgive?account=ID    remove the faults that are for that account alone
POST states                {"id": ..., "state": ...}: hold an endpoint, NAT gateway or load
                           balancer in a state such as failed; "" lets it go on
POST pages                 {"account": ..., "size": N}: lists come in pages of N items at most; 0 is no limit
POST refused?account=ID    take the requests of one account that the service models refuse, or of all:
                           they are forgotten
POST zones                 {account: {zone name: zone id}}
POST organizations         {"accounts": [...], "sharing": true}: accounts in one organization, whose
                           sharing with Resource Access Manager is enabled or not
POST placements            {account: [...]}: names of placement groups and ids of capacity reservations
POST consoles              {instance id: file}: what the instance has written on its console
POST issuers               {host: bucket[/prefix]} of issuers that are not S3 URLs themselves
POST reset                 forget everything but those requests
POST reset?only=faults     forget faults, calls or delays only
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

from moto.core.base_backend import BackendDict
from moto.ec2.models import ec2_backends
from moto.elbv2.models import elbv2_backends
from moto.iam.models import iam_backends

from . import (
    calllog,
    consistency,
    faults,
    idempotency,
    instances,
    launch,
    leftovers,
    limits,
    models,
    paging,
    quotas,
    route53,
    rules,
    sharing,
    states,
    topology,
    webidentity,
    zones,
)

PREFIX = "/emulator/"

_RESETS: dict[str, Callable[[], None]] = {
    "faults": faults.reset,
    "calls": calllog.reset,
    "delays": states.reset,
}


class Mistake(Exception):
    """The control request makes no sense; its text says why."""


def handle(environ: dict[str, Any]) -> tuple[int, str]:
    """Answer one control request with status and text."""
    what = environ["PATH_INFO"].removeprefix(PREFIX)
    query = {k: v[0] for k, v in parse_qs(environ.get("QUERY_STRING", "")).items()}
    length = int(environ.get("CONTENT_LENGTH") or 0)
    body = environ["wsgi.input"].read(length) if length else b""
    try:
        return 200, _answer(environ["REQUEST_METHOD"], what, query, json.loads(body or b"{}"))
    except (Mistake, ValueError, TypeError, AttributeError, KeyError) as error:
        return 400, str(error)


def _answer(method: str, what: str, query: dict[str, str], body: Any) -> str:
    match method, what:
        case "GET", "calls":
            return calllog.lines(int(query.get("since", "0")), query.get("account", ""))
        case "GET", "accounts":
            ids = [query["account"]] if "account" in query else sorted({*ec2_backends.keys(), *iam_backends.keys()})
            return json.dumps({account: leftovers.of(account) for account in ids})
        case "GET", "network":
            return json.dumps(topology.network())
        case "GET", "faults":
            return json.dumps(faults.left(query["account"]))
        case "GET", "delays":
            return json.dumps(states.delays)
        case "POST", "delays":
            states.set_delays(body)
        case "POST", "rules":
            rules.switch(body)
        case "POST", "unlimited":
            limits.unlimit(body["account"], body["rule"])
        case "POST", "faults":
            for fault in body if isinstance(body, list) else [body]:
                faults.add(fault)
        case "POST", "forgive":
            faults.forgive(query["account"])
        case "POST", "pages":
            paging.set_size(body["account"], int(body["size"]))
        case "POST", "refused":
            return json.dumps(models.take(query.get("account", "")))
        case "POST", "states":
            _hold(body["id"], body["state"])
        case "POST", "zones":
            for account, ids in body.items():
                zones.choose(account, ids)
        case "POST", "organizations":
            sharing.organize(body["accounts"], body["sharing"])
        case "POST", "placements":
            for account, names in body.items():
                launch.know(account, names)
        case "POST", "consoles":
            instances.set_consoles(body)
        case "POST", "issuers":
            webidentity.map_issuers(body)
        case "POST", "keys":
            webidentity.keep_keys(body)
        case "POST", "reset":
            _reset(query.get("only", ""))
        case _:
            raise Mistake(f"there is no {method} {PREFIX}{what}")
    return "{}"


def _reset(only: str) -> None:
    if only:
        if only not in _RESETS:
            raise Mistake(f"cannot reset only {only!r}")
        _RESETS[only]()
        return
    BackendDict.reset()
    modules = (
        consistency, idempotency, instances, launch, limits, paging, quotas, route53, rules, sharing, webidentity, zones,
    )  # fmt: skip
    for forget in (*_RESETS.values(), *(module.reset for module in modules)):
        forget()


def _hold(resource_id: str, state: str) -> None:
    for regions in list(ec2_backends.values()):
        for backend in list(regions.values()):
            for resources in (backend.vpc_end_points, backend.nat_gateways):
                if resource_id in resources:
                    states.life(resources[resource_id]).force(state)
                    return
    for balancing in list(elbv2_backends.values()):
        for balancers in list(balancing.values()):
            if resource_id in balancers.load_balancers:
                states.life(balancers.load_balancers[resource_id]).force(state)
                return
    raise Mistake(f"nothing with a state has the id {resource_id}")
