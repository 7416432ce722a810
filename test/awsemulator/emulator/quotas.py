"""Quotas of an account, as Service Quotas and Route 53 report them, and as the rules enforce them.

moto knows those of VPCs, without values that an account has of its own. An account that
needs more requests an increase, which the emulator grants at once.
"""

from __future__ import annotations

import json
from typing import Any

from moto.core.responses import ActionResult
from moto.route53 import urls
from moto.route53.responses import Route53
from moto.servicequotas.exceptions import NoSuchResource
from moto.servicequotas.responses import ServiceQuotasResponse

from . import rules
from .patching import add, wrap

# Values of a new account. Of the last one, AWS has only the default until the customer requests more.
_QUOTAS = {
    ("vpc", "L-F678F1CE"): 5.0,
    ("vpc", "L-A4707A72"): 5.0,
    ("vpc", "L-FE5A380F"): 5.0,
    ("vpc", "L-29B6F2EB"): 50.0,
    ("ec2", "L-0263D0A3"): 5.0,
    ("ec2", "L-1216C47A"): 32.0,
    ("vpc", "L-0EA8095F"): 60.0,
    ("iam", "L-858F3967"): 100.0,
}
_DEFAULTS = {("elasticloadbalancing", "L-69A177A2"): 50.0}

_increased: dict[tuple[str, str], float] = {}  # account and quota code


def reset() -> None:
    """Forget increased quotas."""
    _increased.clear()


def at_most(rule_id: str, account: str, count: int) -> None:
    """Refuse a count above the quota of an account."""
    most = _increased.get((account, rules.quota(rule_id)), rules.limit(rule_id))
    if count > most:
        rules.refuse(rule_id, most=int(most))


_HOSTED_ZONES = 500


def _quota(request: ServiceQuotasResponse, known: dict[tuple[str, str], float]) -> str:
    body = json.loads(request.body)
    key = str(body.get("ServiceCode")), str(body.get("QuotaCode"))
    if key not in known or (key[0] == "iam" and request.region != "us-east-1"):
        raise NoSuchResource
    value = _increased.get((request.current_account, key[1]), known[key])
    return json.dumps({"Quota": {"ServiceCode": key[0], "QuotaCode": key[1], "Value": value}})


@wrap(ServiceQuotasResponse, "get_service_quota")
def _get_service_quota(_: Any, self: ServiceQuotasResponse) -> str:
    increased = {key: value for key, value in _DEFAULTS.items() if (self.current_account, key[1]) in _increased}
    return _quota(self, _QUOTAS | increased)


@add(ServiceQuotasResponse, "get_aws_default_service_quota")
def _get_aws_default_service_quota(self: ServiceQuotasResponse) -> str:
    return _quota(self, _QUOTAS | _DEFAULTS)


@add(ServiceQuotasResponse, "request_service_quota_increase")
def _request_service_quota_increase(self: ServiceQuotasResponse) -> str:
    body = json.loads(self.body)
    key = str(body["ServiceCode"]), str(body["QuotaCode"])
    if key not in _QUOTAS | _DEFAULTS:
        raise NoSuchResource
    _increased[self.current_account, key[1]] = float(body["DesiredValue"])
    request = {"ServiceCode": key[0], "QuotaCode": key[1], "DesiredValue": body["DesiredValue"], "Status": "APPROVED"}
    return json.dumps({"RequestedQuota": request})


@add(Route53, "get_account_limit")
def _get_account_limit(self: Route53) -> ActionResult:
    return ActionResult(
        {"Limit": {"Type": self._get_param("Type"), "Value": _HOSTED_ZONES}, "Count": len(self.backend.zones)}
    )


urls.url_paths[r"{0}/(?P<api_version>[\d_-]+)/accountlimit/(?P<Type>[^/]+)$"] = Route53.dispatch
