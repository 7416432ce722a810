"""Reading a role's trust policy: who may assume it, and under which conditions."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Callable, Mapping
from typing import Any

_Test = Callable[[str, str], bool]

_OPERATORS: dict[str, _Test] = {
    "StringEquals": lambda have, want: have == want,
    "StringNotEquals": lambda have, want: have != want,
    "StringLike": fnmatch.fnmatchcase,
    "ArnEquals": fnmatch.fnmatchcase,
    "ArnLike": fnmatch.fnmatchcase,
}


def trusts(document: Any, action: str, kind: str, principals: set[str], context: Mapping[str, list[str]]) -> bool:
    """Tell whether a trust policy lets one of principals (of a kind, AWS or Federated) do action.

    context holds the condition keys of the request. An explicit Deny wins; a
    condition with an operator that is not known here never holds.
    """
    if isinstance(document, str):
        document = json.loads(document)
    allowed = False
    for statement in _list(document.get("Statement")):
        if not any(fnmatch.fnmatchcase(action, pattern) for pattern in _list(statement.get("Action"))):
            continue
        if not _names_principal(statement.get("Principal"), kind, principals):
            continue
        if not _holds(statement.get("Condition", {}), context):
            continue
        if statement.get("Effect") == "Deny":
            return False
        allowed = allowed or statement.get("Effect") == "Allow"
    return allowed


def _names_principal(principal: Any, kind: str, principals: set[str]) -> bool:
    if principal == "*":
        return True
    named = set(_list((principal or {}).get(kind)))
    return "*" in named or bool(named & principals)


def _holds(conditions: Mapping[str, Any], context: Mapping[str, list[str]]) -> bool:
    for operator, keys in conditions.items():
        test = _OPERATORS.get(operator.removeprefix("ForAnyValue:"))
        if test is None:
            return False
        for key, wanted in keys.items():
            values = context.get(key, [])
            if not any(test(have, want) for have in values for want in _list(wanted)):
                return False
    return True


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
