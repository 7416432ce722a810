"""What every AWS request passes on its way to moto, and its answer on the way back."""

from __future__ import annotations

import datetime
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from . import accounts, calllog, faults, limits, models, permissions, rules, signingtime, uploads, wire

Environ = dict[str, Any]
Start = Callable[..., Any]
Application = Callable[[Environ, Start], Iterable[bytes]]

_BEFORE = ("reset",)
_AFTER = ("answerLost",)


class _Answer:
    """A whole answer, held back until it is decided whether the caller gets it."""

    def __init__(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    def send(self, start: Start) -> list[bytes]:
        start(f"{self.status} ", self.headers)
        return [self.body]


class FrontDoor:
    """A WSGI application in front of moto: callers, faults, call log, AWS-shaped errors."""

    def __init__(self, moto: Application) -> None:
        self._moto = moto
        # moto is not made for threads: two creates at once may both find nothing.
        # Python would hardly run them in parallel anyway.
        self._one_at_a_time = threading.RLock()

    def __call__(self, environ: Environ, start: Start) -> Iterable[bytes]:
        begun = time.monotonic()
        request = wire.read(environ)
        if request.cut:
            # A process that is killed while it sends. AWS does nothing either, so there is nothing to judge or to record.
            raise ConnectionResetError("the client is gone")
        caller = accounts.find(request.access_key) if request.access_key else None
        account = caller.account if caller else _account_of_role(request.params.get("RoleArn", ""))
        throttled = limits.refusal(request, account) if caller else None
        fault = None if throttled else faults.take(request, account)
        broken = fault is not None and fault.kind in _BEFORE + _AFTER

        answer: _Answer | None = None
        if fault is not None and fault.seconds > 0:
            time.sleep(fault.seconds)
        if request.access_key and caller is None:
            answer = _refuse(request, *_unknown_key(request), "The AWS access key id is not known here")
        elif caller is not None and caller.default_regions and request.region not in rules.values("sts-global-endpoint"):
            status, code = _unknown_key(request)
            answer = _refuse(request, status, code, rules.refusal("sts-global-endpoint")[1])
        elif invalid := signingtime.refusal(request, environ) or uploads.refusal(request, environ):
            answer = _refuse(request, *invalid)
        elif throttled:
            answer = _refuse(request, 503 if request.service == "ec2" else 400, *throttled)
        elif wrong := models.judge(request, environ):
            answer = _refuse(request, *wrong)
            models.remember(
                models.Refused(account, caller.role if caller else "", request.service, request.action, *wrong[1:])
            )
        elif caller is not None and (refusal := permissions.refusal(request, caller)):
            answer = _refuse(request, *faults.denied(request), refusal)
        elif fault is not None and fault.kind not in (*_BEFORE, *_AFTER, "latency"):
            answer = _refuse(request, *fault.answer(request), fault.message or "A fault was asked for")
        elif fault is None or fault.kind not in _BEFORE:
            with limits.change(request) as refused:
                answer = _refuse(request, 400, *refused) if refused else self._ask_moto(environ, request)

        calllog.record(
            calllog.Call(
                time=datetime.datetime.now(datetime.UTC).isoformat(),
                account=account,
                role=caller.role if caller else "",
                caller=caller.arn if caller else "",
                service=request.service,
                action=request.action,
                permissions=permissions.needed(request, account),
                region=request.region,
                status=answer.status if answer and not broken else 0,
                outcome=fault.kind if broken and fault else _outcome(answer),
                fault=fault.kind if fault else "",
                milliseconds=round((time.monotonic() - begun) * 1000, 1),
                params=request.params,
            )
        )
        if broken or answer is None:
            raise ConnectionResetError("a fault was asked for")  # the server resets the connection
        return answer.send(start)

    def fetch(self, environ: Environ) -> tuple[int, bytes]:
        """Ask moto for something on the emulator's own behalf: no log, no faults."""
        answer = self._ask_moto(environ, wire.Request(service="s3"))
        return answer.status, answer.body

    def _ask_moto(self, environ: Environ, request: wire.Request) -> _Answer:
        seen: list[Any] = []

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
            seen[:] = [int(status.split(" ", 1)[0]), headers]

        try:
            with self._one_at_a_time:
                body = b"".join(self._moto(environ, start))
        except Exception as error:  # a fault of moto's or ours; the SDK must see a server error, not HTML
            sys.excepthook(*sys.exc_info())
            return _refuse(request, 500, "InternalFailure", f"{type(error).__name__}: {error}")
        status, headers = seen
        if body[:15].lower() == b"<!doctype html>":  # a path that moto has no handler for
            return _refuse(request, 400, "InvalidAction", f"There is no action {request.action}")
        return _Answer(status, headers, body)


def _refuse(request: wire.Request, status: int, code: str, message: str) -> _Answer:
    status, content_type, body = wire.error(request, status, code, message)
    return _Answer(status, [("Content-Type", content_type), ("Content-Length", str(len(body)))], body)


def _unknown_key(request: wire.Request) -> tuple[int, str]:
    match request.service:
        case "ec2":
            return 401, "AuthFailure"
        case "s3":
            return 403, "InvalidAccessKeyId"
        case _:
            return 403, "InvalidClientTokenId"


def _outcome(answer: _Answer | None) -> str:
    if answer is None:
        return "none"
    if answer.status < 400:
        return "ok"
    return wire.error_code(answer.body) or str(answer.status)


def _account_of_role(arn: str) -> str:
    return arn.split(":")[4] if arn.count(":") >= 5 else ""
