"""Quotas of an account, as Service Quotas and Route 53 report them.

moto knows those of VPCs, without values that an account has of its own. The emulator
enforces none of these: a test makes AWS refuse a call with a fault.
"""

from __future__ import annotations

import json
from typing import Any

from moto.core.responses import ActionResult
from moto.route53 import urls
from moto.route53.responses import Route53
from moto.servicequotas.exceptions import NoSuchResource
from moto.servicequotas.responses import ServiceQuotasResponse

from .patching import add, wrap

# Values of a new account. Of the last one, AWS has only the default until the customer requests more.
_QUOTAS = {
    ("vpc", "L-F678F1CE"): 5.0,
    ("vpc", "L-A4707A72"): 5.0,
    ("vpc", "L-FE5A380F"): 5.0,
    ("vpc", "L-29B6F2EB"): 50.0,
    ("ec2", "L-1216C47A"): 32.0,
    ("iam", "L-858F3967"): 100.0,
}
_DEFAULTS = {("elasticloadbalancing", "L-69A177A2"): 50.0}

_HOSTED_ZONES = 500


def _quota(request: ServiceQuotasResponse, known: dict[tuple[str, str], float]) -> str:
    body = json.loads(request.body)
    key = str(body.get("ServiceCode")), str(body.get("QuotaCode"))
    if key not in known or (key[0] == "iam" and request.region != "us-east-1"):
        raise NoSuchResource
    return json.dumps({"Quota": {"ServiceCode": key[0], "QuotaCode": key[1], "Value": known[key]}})


@wrap(ServiceQuotasResponse, "get_service_quota")
def _get_service_quota(_: Any, self: ServiceQuotasResponse) -> str:
    return _quota(self, _QUOTAS)


@add(ServiceQuotasResponse, "get_aws_default_service_quota")
def _get_aws_default_service_quota(self: ServiceQuotasResponse) -> str:
    return _quota(self, _QUOTAS | _DEFAULTS)


@add(Route53, "get_account_limit")
def _get_account_limit(self: Route53) -> ActionResult:
    return ActionResult(
        {"Limit": {"Type": self._get_param("Type"), "Value": _HOSTED_ZONES}, "Count": len(self.backend.zones)}
    )


urls.url_paths[r"{0}/(?P<api_version>[\d_-]+)/accountlimit/(?P<Type>[^/]+)$"] = Route53.dispatch
