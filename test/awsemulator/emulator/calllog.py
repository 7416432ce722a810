"""What was called, by whom, and with which result: one record per request."""

from __future__ import annotations

import dataclasses
import json
import threading
from dataclasses import dataclass, field


@dataclass
class Call:
    """One request; role is the ARN of the role whose session made it."""

    time: str
    account: str
    role: str
    caller: str
    service: str
    action: str
    permissions: list[str]  # the actions that a policy must allow for it
    region: str
    status: int
    outcome: str  # "ok", an error code, or what broke the connection
    fault: str  # the kind of the fault that was injected
    milliseconds: float
    params: dict[str, str] = field(default_factory=dict)
    number: int = 0  # counted from the start


_calls: list[Call] = []
_forgotten = 0  # how many there were before those
_lock = threading.Lock()


def record(call: Call) -> None:
    """Append a call."""
    with _lock:
        call.number = _forgotten + len(_calls)
        _calls.append(call)


def reset() -> None:
    """Forget all calls. Their numbers do not come again: who follows the log misses nothing."""
    global _forgotten
    with _lock:
        _forgotten += len(_calls)
        _calls.clear()


def lines(since: int = 0, account: str = "") -> str:
    """Give the calls from number since on, of one account or of all, as JSON lines."""
    with _lock:
        calls = [call for call in _calls[max(0, since - _forgotten) :] if account in ("", call.account)]
    return "".join(json.dumps(dataclasses.asdict(call)) + "\n" for call in calls)
