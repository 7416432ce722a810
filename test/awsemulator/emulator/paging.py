"""Pages, where moto returns everything.

A program that forgets NextToken works until the day there are more resources than fit on a
page. What comes in pages, and by which tokens, is in the paginators that AWS publishes with
its SDKs. MaxResults is respected here for every list of EC2, Elastic Load Balancing,
IAM and Route 53, and a test can set the size of the pages for an account: AWS may return fewer items
than asked for at any time.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import botocore.exceptions
import botocore.session
from moto.core.responses import ActionResult, BaseResponse

from .errors import refuse
from .patching import wrap

_SLICED = {"ec2", "elbv2", "iam"}
_SLICED_OPERATIONS: dict[tuple[str, str], dict[str, Any] | None] = {
    ("route53", "ListHostedZones"): None,  # moto's own markers are longer than the model allows
    # The model has no paginator for it.
    ("route53", "ListHostedZonesByVPC"): {
        "input_token": "NextToken",
        "output_token": "NextToken",
        "limit_key": "MaxItems",
        "result_key": "HostedZoneSummaries",
    },
}
_TOKEN = re.compile(r"page-(\d+)")

# moto pages these itself, by the size that it is asked for. They go on at a name instead of a token.
_ASKED = {("route53", "ListResourceRecordSets")}

_WRONG_TOKEN = {"ec2": "InvalidNextToken", "route53": "InvalidInput"}

_sizes: dict[str, int] = {}


def set_size(account: str, size: int) -> None:
    """Let every list of an account come in pages of this size at most; 0 is no limit."""
    _sizes[account] = size


def reset() -> None:
    """Forget the sizes."""
    _sizes.clear()


def size_for(response: BaseResponse, asked: Any, most: int) -> int:
    """Give the size of a page, of the size that the request asks for and the one that a test has set."""
    sizes = [int(size) for size in (asked, _sizes.get(response.current_account)) if size]
    return min(sizes, default=most) or 1


@dataclass(frozen=True)
class _Page:
    """Which part of a list a request wants."""

    start: int
    asked: Any
    paginator: dict[str, Any]


@functools.cache
def _paginator(service: str, operation: str) -> dict[str, Any] | None:
    if service not in _SLICED and (service, operation) not in _SLICED_OPERATIONS:
        return None
    if own := _SLICED_OPERATIONS.get((service, operation)):
        return own
    try:
        model = botocore.session.get_session().get_paginator_model(service)
        paginator: dict[str, Any] = model.get_paginator(operation)
    except (ValueError, botocore.exceptions.BotoCoreError):
        return None
    return paginator if "limit_key" in paginator and isinstance(paginator["result_key"], str) else None


@wrap(BaseResponse, "call_action")
def _call_action(original: Any, self: BaseResponse) -> Any:
    service, operation = self.boto3_service_name, self._get_action()
    self.__dict__["_page"] = None
    if (service, operation) in _ASKED:
        if size := _sizes.get(self.current_account):
            self.params["MaxItems"] = min(size, int(self._get_param("MaxItems", size)))
        return original(self)
    paginator = _paginator(service, operation)
    if paginator is None:
        return original(self)
    token = self._get_param(paginator["input_token"])
    start = 0
    if token:
        found = _TOKEN.fullmatch(str(token))
        if found is None:
            code = _WRONG_TOKEN.get(service, "ValidationError")
            status, headers, body = self.serialized(ActionResult(refuse(code, f"The token '{token}' is invalid.")))
            headers["status"] = str(status)
            return status, headers, body
        start = int(found[1])
        self.params.pop(paginator["input_token"])
    # moto would return part of a page that begins elsewhere.
    self.__dict__["_page"] = _Page(start, self.params.pop(paginator["limit_key"], None), paginator)
    return original(self)


@wrap(BaseResponse, "serialized")
def _serialized(original: Any, self: BaseResponse, action_result: ActionResult) -> Any:
    wanted: _Page | None = self.__dict__.get("_page")
    result = action_result.result
    if wanted is None or not isinstance(result, dict):
        return original(self, action_result)
    items: Sequence[Any] = list(result.get(wanted.paginator["result_key"]) or [])
    end = wanted.start + size_for(self, wanted.asked, len(items))
    following = f"page-{end}" if end < len(items) else None
    part: dict[str, Any] = {
        wanted.paginator["result_key"]: items[wanted.start : end],
        wanted.paginator["output_token"]: following,
    }
    if more := wanted.paginator.get("more_results"):
        part[more] = following is not None
    return original(self, ActionResult({**result, **part}))
