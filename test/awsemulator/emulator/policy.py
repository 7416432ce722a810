"""Evaluating IAM policies: statements, resources, conditions.

    question   an action on one resource, with the condition keys of the request
       |
    statement  Action or NotAction, Resource or NotResource (or Principal), Condition
       |
    decision   an explicit Deny wins; without an Allow the answer is no

A document that uses what is not evaluated here is refused when it is stored
(see roles.py), because a condition that is ignored would make a test pass for
the wrong reason.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

Context = Mapping[str, list[str]]


class Decision(Enum):
    """The outcome of an evaluation."""

    ALLOWED = "allowed"
    DENIED = "denied"  # by a statement
    NOT_ALLOWED = "not allowed"  # by no statement


class Unsupported(ValueError):
    """A document uses what this module does not evaluate."""


@dataclass(frozen=True)
class Question:
    """May the action be done on the resource? The keys of context are in lower case."""

    action: str
    resource: str = "*"
    context: dict[str, list[str]] = field(default_factory=dict)


def evaluate(documents: Iterable[Any], question: Question) -> Decision:
    """Evaluate the policies of an identity."""
    return _decide(documents, question, _covers_resource)


def keys(documents: Iterable[Any], question: Question) -> set[str]:
    """Name the condition keys, in lower case, of the statements about the action and the resource."""
    return {
        key.lower()
        for document in documents
        for statement in _statements(document)
        if _covers_action(statement, question.action) and _covers_resource(statement, question)
        for condition in statement.get("Condition", {}).values()
        for key in condition
    }


def trusts(document: Any, action: str, kind: str, principals: set[str], context: Context) -> bool:
    """Tell whether a trust policy lets one of principals (of a kind, AWS or Federated) do action."""

    def applies(statement: Mapping[str, Any], _: Question) -> bool:
        if "NotPrincipal" in statement:
            return not _names_principal(statement["NotPrincipal"], kind, principals)
        return _names_principal(statement.get("Principal"), kind, principals)

    question = Question(action, "", {key.lower(): values for key, values in context.items()})
    return _decide([document], question, applies) is Decision.ALLOWED


def check(document: Any) -> None:
    """Raise Unsupported if the document uses what is not evaluated here."""
    for statement in _statements(document):
        if unknown := set(statement) - _ELEMENTS:
            raise Unsupported(f"the emulator does not evaluate {', '.join(sorted(unknown))}")
        if statement.get("Effect") not in ("Allow", "Deny"):
            raise Unsupported("Effect must be Allow or Deny")
        for operator in statement.get("Condition", {}):
            _operator(operator)


_ELEMENTS = {
    "Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction", "Resource", "NotResource", "Condition",
}  # fmt: skip


def _decide(
    documents: Iterable[Any], question: Question, applies: Callable[[Mapping[str, Any], Question], bool]
) -> Decision:
    decision = Decision.NOT_ALLOWED
    for document in documents:
        for statement in _statements(document):
            if not (_covers_action(statement, question.action) and applies(statement, question)):
                continue
            if not _holds(statement.get("Condition", {}), question.context):
                continue
            if statement["Effect"] == "Deny":
                return Decision.DENIED
            decision = Decision.ALLOWED
    return decision


def _statements(document: Any) -> list[dict[str, Any]]:
    if isinstance(document, str):
        return _parsed(document)
    return _list(document.get("Statement"))


@functools.cache
def _parsed(document: str) -> list[dict[str, Any]]:
    return _list(json.loads(document).get("Statement"))


# --- Action, Resource, Principal


def _covers_action(statement: Mapping[str, Any], action: str) -> bool:
    if "NotAction" in statement:
        return not any(_like(action.lower(), str(p).lower()) for p in _list(statement["NotAction"]))
    return any(_like(action.lower(), str(p).lower()) for p in _list(statement.get("Action")))


def _covers_resource(statement: Mapping[str, Any], question: Question) -> bool:
    if "NotResource" in statement:
        return not any(_arn_like(question.resource, p, question.context) for p in _list(statement["NotResource"]))
    return any(_arn_like(question.resource, p, question.context) for p in _list(statement.get("Resource")))


def _names_principal(principal: Any, kind: str, principals: set[str]) -> bool:
    if principal == "*":
        return True
    named = set(_list((principal or {}).get(kind)))
    return "*" in named or bool(named & principals)


# --- Condition

_Test = Callable[[str, str, Context], bool]


@dataclass(frozen=True)
class _Operator:
    test: _Test
    negated: bool = False
    if_exists: bool = False
    quantifier: str = ""


def _equals(have: str, want: str, context: Context) -> bool:
    return re.fullmatch(_pattern(want, context, wildcards=False), have) is not None


def _equals_ignoring_case(have: str, want: str, context: Context) -> bool:
    return _equals(have.lower(), want.lower(), context)


def _string_like(have: str, want: str, context: Context) -> bool:
    return _like(have, want, context)


def _arn(have: str, want: str, context: Context) -> bool:
    return _arn_like(have, want, context)


def _bool(have: str, want: str, _: Context) -> bool:
    return have.lower() == want.lower()


def _number(compare: Callable[[float, float], bool]) -> _Test:
    return lambda have, want, _: compare(float(have), float(want))


_TESTS: dict[str, tuple[_Test, bool]] = {
    "StringEquals": (_equals, False),
    "StringNotEquals": (_equals, True),
    "StringEqualsIgnoreCase": (_equals_ignoring_case, False),
    "StringNotEqualsIgnoreCase": (_equals_ignoring_case, True),
    "StringLike": (_string_like, False),
    "StringNotLike": (_string_like, True),
    "ArnEquals": (_arn, False),
    "ArnNotEquals": (_arn, True),
    "ArnLike": (_arn, False),
    "ArnNotLike": (_arn, True),
    "Bool": (_bool, False),
    "NumericEquals": (_number(lambda a, b: a == b), False),
    "NumericNotEquals": (_number(lambda a, b: a == b), True),
    "NumericLessThan": (_number(lambda a, b: a < b), False),
    "NumericLessThanEquals": (_number(lambda a, b: a <= b), False),
    "NumericGreaterThan": (_number(lambda a, b: a > b), False),
    "NumericGreaterThanEquals": (_number(lambda a, b: a >= b), False),
}


@functools.cache
def _operator(name: str) -> _Operator:
    """Take an operator's name apart: ForAllValues:StringLikeIfExists."""
    quantifier, separator, plain = name.rpartition(":")
    if quantifier not in ("", "ForAllValues", "ForAnyValue") or (separator and not quantifier):
        raise Unsupported(f"the emulator does not evaluate the operator {name}")
    if plain == "Null" and not quantifier:
        return _Operator(_bool)
    if_exists = plain.endswith("IfExists")
    known = _TESTS.get(plain.removesuffix("IfExists"))
    if known is None:
        raise Unsupported(f"the emulator does not evaluate the operator {name}")
    return _Operator(known[0], known[1], if_exists, quantifier)


def _holds(conditions: Mapping[str, Any], context: Context) -> bool:
    return all(
        _key_holds(name, [_text(w) for w in _list(wanted)], context.get(key.lower(), []), context)
        for name, keys in conditions.items()
        for key, wanted in keys.items()
    )


def _key_holds(name: str, wanted: list[str], values: list[str], context: Context) -> bool:
    """Evaluate one condition key. All keys of a statement must hold; one of the wanted values is enough."""
    if name == "Null":
        return str(not values).lower() in [w.lower() for w in wanted]
    operator = _operator(name)

    def passes(have: str) -> bool:
        return any(operator.test(have, want, context) for want in wanted) is not operator.negated

    if operator.quantifier == "ForAllValues":
        return all(passes(have) for have in values)  # holds for a key that is missing, as in AWS
    if not values:
        return operator.if_exists or (operator.negated and not operator.quantifier)
    if operator.quantifier == "ForAnyValue" or not operator.negated:
        return any(passes(have) for have in values)
    return all(passes(have) for have in values)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- Wildcards and policy variables

_TOKEN = re.compile(r"\$\{([^}]*)\}|([*?])")


def _like(have: str, pattern: str, context: Context | None = None) -> bool:
    return re.fullmatch(_pattern(pattern, context or {}), have, re.DOTALL) is not None


def _arn_like(have: str, pattern: str, context: Context) -> bool:
    """Compare part by part: a wildcard does not cross a colon before the resource itself."""
    if pattern == "*":
        return True
    parts, patterns = have.split(":", 5), _split_arn(pattern)
    return len(parts) == len(patterns) and all(_like(h, p, context) for h, p in zip(parts, patterns, strict=True))


def _split_arn(pattern: str) -> list[str]:
    """Split at the first five colons that are not inside of a policy variable."""
    parts = re.split(r":(?![^${]*\})", pattern)
    return [*parts[:5], ":".join(parts[5:])] if len(parts) > 5 else parts


def _pattern(pattern: str, context: Context, wildcards: bool = True) -> str:
    """Turn a pattern of IAM into a regular expression. A variable without a value matches nothing."""
    expression, end = "", 0
    for found in _TOKEN.finditer(pattern):
        expression += re.escape(pattern[end : found.start()])
        end = found.end()
        variable, wildcard = found[1], found[2]
        if wildcard:
            expression += {"*": ".*", "?": "."}[wildcard] if wildcards else re.escape(wildcard)
        elif variable in ("*", "?", "$"):
            expression += re.escape(variable)
        else:
            values = context.get(variable.lower(), [])
            expression += re.escape(values[0]) if len(values) == 1 else r"(?!)"
    return expression + re.escape(pattern[end:])


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
