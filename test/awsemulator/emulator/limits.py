"""How many requests AWS takes: a token bucket for each account, and one change of a zone at a time.

Throttled requests have no effect, so they neither use up a fault nor reach moto. Both are tables
in rules.json: the row of an operation, or of all operations of a service.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Iterator

from . import rules, states, wire

_ZONE_CHANGE = re.compile(r"/hostedzone/([^/]+)/rrset/?$")

_lock = threading.Lock()
_tokens: dict[tuple[str, str, str], tuple[float, float]] = {}  # tokens, and when they were counted
_changing: set[str] = set()  # zones of which a change is being processed
_unlimited: set[tuple[str, str]] = set()  # accounts, and rules that are not enforced for them


def reset() -> None:
    """Fill all buckets."""
    with _lock:
        _tokens.clear()
        _unlimited.clear()


def unlimit(account: str, rule_id: str) -> None:
    """Take any number of an account's requests that the rule limits, until the next reset."""
    rules.refill(rule_id)  # a rule without a bucket is a mistake of the caller
    with _lock:
        _unlimited.add((account, rule_id))


def _bucket(request: wire.Request) -> tuple[str, str]:
    """Give the rule that limits a request, and what its bucket is for; an empty rule means no limit."""
    if request.service == "route53":
        return "route53-requests", ""
    if request.service != "ec2":
        return "", ""
    for rule_id in rules.rates():
        if request.action in rules.operations(rule_id):
            return rule_id, request.action
    read = request.action.startswith(("Describe", "Get", "List", "Search"))
    return "ec2-requests-reading" if read else "ec2-requests-changing", request.action


def refusal(request: wire.Request, account: str) -> tuple[str, str] | None:
    """Take a token, or give code and message of the refusal."""
    rule_id, name = _bucket(request)
    if not rule_id or not rules.enforced(rule_id):
        return None
    capacity, refill = rules.limit(rule_id), rules.refill(rule_id)
    key = account, "" if request.service == "route53" else request.region, f"{request.service}/{name}"
    now = time.monotonic()
    with _lock:
        if (account, rule_id) in _unlimited:
            return None
        tokens, counted = _tokens.get(key, (capacity, now))
        tokens = min(capacity, tokens + (now - counted) * refill)
        if tokens < 1:
            _tokens[key] = tokens, now
            return rules.refusal(rule_id, name)
        _tokens[key] = tokens - 1, now
    return None


@contextlib.contextmanager
def change(request: wire.Request) -> Iterator[tuple[str, str] | None]:
    """Process a change of records, or give code and message of the refusal if another one is being processed."""
    found = _ZONE_CHANGE.search(request.params.get("path", "")) if request.service == "route53" else None
    if request.action != "ChangeResourceRecordSets" or not found or not rules.enforced("route53-prior-request"):
        yield None
        return
    zone = found[1]
    with _lock:
        refused = zone in _changing
        if not refused:
            _changing.add(zone)
    if refused:
        yield rules.refusal("route53-prior-request", zone)
        return
    try:
        time.sleep(states.delays["route53.processing"])
        yield None
    finally:
        with _lock:
            _changing.discard(zone)
