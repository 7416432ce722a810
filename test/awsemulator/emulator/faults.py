"""Failures on demand.

A fault matches calls by service, action and account, fires a number of times
and is then gone. Each kind uses the code that the service itself would use,
because that code is what the SDK and our own back-off decide by.
"""

from __future__ import annotations

import dataclasses
import threading
from dataclasses import dataclass

from . import wire

_THROTTLED = {"ec2": (503, "RequestLimitExceeded"), "s3": (503, "SlowDown")}
_DENIED = {
    "ec2": (403, "UnauthorizedOperation"),
    "kms": (400, "AccessDeniedException"),
    "ram": (403, "AccessDeniedException"),
}
_EXPIRED = {"ec2": (400, "RequestExpired"), "s3": (400, "ExpiredToken")}
_FAILED = {"ec2": (500, "InternalError"), "s3": (500, "InternalError")}

KINDS = ("throttle", "serverError", "unavailable", "reset", "answerLost", "expired", "denied", "error", "latency")
"""reset: the connection breaks before anything happened; answerLost: it breaks after the call was applied."""


@dataclass
class Fault:
    """One rule. Empty service, action or account match all; a negative count never runs out."""

    kind: str
    service: str = ""
    action: str = ""
    account: str = ""
    count: int = 1
    skip: int = 0  # let this many matching calls pass first
    seconds: float = 0.0  # of latency
    code: str = ""  # of kind "error"
    status: int = 400
    message: str = ""  # what the error says

    def matches(self, request: wire.Request, account: str) -> bool:
        return (
            self.count != 0
            and self.service in ("", request.service)
            and self.action in ("", request.action)
            and self.account in ("", account)
        )

    def answer(self, request: wire.Request) -> tuple[int, str]:
        """Give status and error code of the kinds that answer with an error."""
        match self.kind:
            case "throttle":
                return _THROTTLED.get(request.service, (400, "Throttling"))
            case "denied":
                return denied(request)
            case "expired":
                return _EXPIRED.get(request.service, (403, "ExpiredToken"))
            case "serverError":
                return _FAILED.get(request.service, (500, "InternalFailure"))
            case "unavailable":
                return 503, "Unavailable" if request.service == "ec2" else "ServiceUnavailable"
            case _:
                return self.status, self.code


def denied(request: wire.Request) -> tuple[int, str]:
    """Give status and error code with which a service says that the caller may not do this."""
    return _DENIED.get(request.service, (403, "AccessDenied"))


_rules: list[Fault] = []
_lock = threading.Lock()


def add(description: dict[str, object]) -> None:
    """Add a rule from its JSON form; an unknown kind or field is an error."""
    names = {f.name for f in dataclasses.fields(Fault)}
    if unknown := sorted(set(description) - names):
        raise ValueError(f"a fault has no {', '.join(unknown)}; it has {', '.join(sorted(names))}")
    fault = Fault(**description)  # type: ignore[arg-type]
    if fault.kind not in KINDS:
        raise ValueError(f"no such kind of fault: {fault.kind!r}; there are {', '.join(KINDS)}")
    with _lock:
        _rules.append(fault)


def reset() -> None:
    """Remove all rules."""
    with _lock:
        _rules.clear()


def forgive(account: str) -> None:
    """Remove the rules that are for one account alone."""
    with _lock:
        _rules[:] = [fault for fault in _rules if fault.account != account]


def left(account: str) -> list[dict[str, object]]:
    """Give the rules for one account alone that still hit a call."""
    with _lock:
        return [dataclasses.asdict(fault) for fault in _rules if fault.account == account and fault.count != 0]


def take(request: wire.Request, account: str) -> Fault | None:
    """Give the first rule that hits this call, and count it."""
    with _lock:
        for fault in _rules:
            if not fault.matches(request, account):
                continue
            if fault.skip > 0:
                fault.skip -= 1
                continue
            fault.count -= 1
            return fault
    return None
