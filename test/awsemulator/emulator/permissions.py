"""What the policies of a role let its sessions do.

A role that has no policy at all may do everything: most tests are about other things,
and give their roles none. Once a role has one, what no policy allows is refused.
Resources and conditions of a statement are not looked at.
"""

from __future__ import annotations

import fnmatch
import functools
import json
from collections.abc import Iterator
from typing import Any

from moto.iam.models import iam_backends

from . import accounts, wire

_ALWAYS = {"sts:GetCallerIdentity"}

# IAM knows these by another name than the API.
_NAMES = {"s3:DeleteObjects": "s3:DeleteObject"}


def missing(request: wire.Request, caller: accounts.Caller) -> str:
    """Name an action that the request needs and the caller's role does not have, or ""."""
    if not caller.role:
        return ""
    documents = _policies(caller.role)
    if not documents:
        return ""
    for action in needed(request):
        if not any(_allows(document, action) for document in documents):
            return action
    return ""


def refusal(action: str, caller: accounts.Caller) -> str:
    """Word the refusal as AWS does."""
    return (
        f"User: {caller.arn} is not authorized to perform: {action}"
        f" because no identity-based policy allows the {action} action"
    )


def needed(request: wire.Request) -> list[str]:
    """Name the actions that a policy must allow for the request to go through."""
    return [action for action in _actions(request) if action not in _ALWAYS]


def _actions(request: wire.Request) -> Iterator[str]:
    action = f"{request.service}:{request.action}"
    yield _NAMES.get(action, action)
    if request.service == "ec2" and any(name.startswith("TagSpecification") for name in request.params):
        yield "ec2:CreateTags"
    if request.action == "RunInstances" and any(name.startswith("IamInstanceProfile") for name in request.params):
        yield "iam:PassRole"  # the instances act as the role of the profile


def _policies(role_arn: str) -> list[str]:
    for role in iam_backends[role_arn.split(":")[4]]["aws"].roles.values():
        if role.arn == role_arn:
            return list(role.policies.values())
    return []


def _allows(document: str, action: str) -> bool:
    return any(fnmatch.fnmatchcase(action.lower(), pattern) for pattern in _patterns(document))


@functools.cache
def _patterns(document: str) -> tuple[str, ...]:
    statements = _list(json.loads(document)["Statement"])
    if any(statement["Effect"] != "Allow" for statement in statements):
        raise NotImplementedError("the policies of our roles deny nothing explicitly")
    return tuple(str(action).lower() for statement in statements for action in _list(statement["Action"]))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
