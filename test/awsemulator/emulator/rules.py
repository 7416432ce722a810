"""The table of rules that AWS has and its service models do not have.

rules.json is the file of package awsrules, which fakeaws reads, too: numbers, patterns,
error codes and messages are in it once. The modules of this package enforce the rules.
"""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

from moto.core.exceptions import ServiceException
from moto.ec2.exceptions import EC2ClientError
from moto.elbv2.exceptions import ELBClientError
from moto.iam.exceptions import IAMException
from moto.route53.exceptions import Route53ClientError
from moto.s3.exceptions import S3ClientError

_FILE = pathlib.Path(__file__).with_name("rules.json")
_EXCEPTIONS: dict[str, type[ServiceException]] = {
    "ec2": EC2ClientError,
    "elasticloadbalancing": ELBClientError,
    "iam": IAMException,
    "route53": Route53ClientError,
    "s3": S3ClientError,
}

_rules: dict[str, dict[str, Any]] = {rule["id"]: rule for rule in json.loads(_FILE.read_text())}
_switched: dict[str, bool] = {}


def switch(changes: dict[str, bool]) -> None:
    """Enforce rules, or do not, until the next reset."""
    if unknown := sorted(set(changes) - set(_rules)):
        raise ValueError(f"no such rule: {', '.join(unknown)}; there are {', '.join(sorted(_rules))}")
    _switched.update(changes)


def reset() -> None:
    """Enforce all rules."""
    _switched.clear()


def enforced(rule_id: str) -> bool:
    """Tell whether requests are checked by the rule."""
    return _switched.get(rule_id, True)


def limit(rule_id: str) -> Any:
    """Give the number of a rule."""
    return _rules[rule_id]["limit"]


def quota(rule_id: str) -> str:
    """Give the code with which an account requests an increase of the number."""
    return str(_rules[rule_id]["quota"])


def rates() -> list[str]:
    """Name the rules that limit the requests of single operations."""
    return [rule_id for rule_id, rule in _rules.items() if "refill" in rule and rule["operations"] != ["*"]]


def operations(rule_id: str) -> list[str]:
    """Give the operations of a rule."""
    return list(_rules[rule_id]["operations"])


def values(rule_id: str) -> list[str]:
    """Give the values that a rule permits."""
    return list(_rules[rule_id]["values"])


def refill(rule_id: str) -> float:
    """Give the tokens that a bucket gets each second."""
    return float(_rules[rule_id]["refill"])


def matches(rule_id: str, value: str) -> bool:
    """Tell whether the whole value matches the pattern of a rule."""
    return re.fullmatch(_rules[rule_id]["pattern"], value) is not None


def refusal(rule_id: str, name: object = "", most: Any = None) -> tuple[str, str]:
    """Give error code and message of the rule."""
    rule = _rules[rule_id]
    text = rule["message"].replace("{limit}", str(rule.get("limit", "") if most is None else most))
    return rule["code"], text.replace("{name}", str(name))


def refuse(rule_id: str, name: object = "", most: Any = None) -> None:
    """Raise the refusal of a rule, if the rule is enforced."""
    if enforced(rule_id):
        raise _EXCEPTIONS[_rules[rule_id]["service"]](*refusal(rule_id, name, most))


def at_most(rule_id: str, count: float, name: object = "") -> None:
    """Refuse a count above the number of a rule."""
    if count > limit(rule_id):
        refuse(rule_id, name)


def match(rule_id: str, value: str, name: object = "") -> None:
    """Refuse a value that does not match the pattern of a rule."""
    if not matches(rule_id, value):
        refuse(rule_id, name or value)
