"""What IAM refuses: sizes of policies, principals that do not exist, OIDC providers without documents.

IAM is eventually consistent: what it has created or changed, other requests and other services
find seconds later. The delay "iam.visibility" is that time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from moto.iam.models import IAMBackend, InstanceProfile, Role, User, iam_backends

from . import rules, states, webidentity
from .patching import wrap

_PRINCIPAL = re.compile(r"arn:[a-z-]+:iam::(\d{12}):(role|user)/(.+)")


def _length(document: str) -> int:
    """Count the characters of a policy as IAM does: without white space."""
    return len(re.sub(r"\s", "", document))


def _statements(document: str) -> list[Any]:
    try:
        statements = json.loads(document)["Statement"]
    except (ValueError, KeyError, TypeError):
        return []  # moto refuses it
    return [s for s in (statements if isinstance(statements, list) else [statements]) if isinstance(s, dict)]


def _check_statements(document: str, partition: str) -> None:
    for statement in _statements(document):
        rules.match("iam-statement-id", str(statement.get("Sid", "")))
        named = statement.get("Resource", [])
        for resource in [named] if isinstance(named, str) else named:
            other = str(resource).split(":")[1:2]
            if str(resource).startswith("arn:") and other != [partition] and other != ["*"]:
                rules.refuse("iam-partition", resource)


# --- Sizes


@wrap(IAMBackend, "put_role_policy")
def _put_role_policy(original: Any, self: IAMBackend, role_name: str, policy_name: str, policy_json: str) -> None:
    _check_statements(policy_json, self.partition)
    others = [document for name, document in self.get_role(role_name).policies.items() if name != policy_name]
    rules.at_most("iam-inline-policies-per-role", sum(map(_length, [*others, policy_json])), role_name)
    original(self, role_name, policy_name, policy_json)


@wrap(IAMBackend, "create_policy")
def _create_policy(
    original: Any, self: IAMBackend, description: str, path: str, policy_document: str, *args: Any
) -> Any:
    _check_statements(policy_document, self.partition)
    rules.at_most("iam-managed-policy-size", _length(policy_document))
    return original(self, description, path, policy_document, *args)


@wrap(IAMBackend, "create_policy_version")
def _create_policy_version(original: Any, self: IAMBackend, policy_arn: str, policy_document: str, *args: Any) -> Any:
    _check_statements(policy_document, self.partition)
    rules.at_most("iam-managed-policy-size", _length(policy_document))
    return original(self, policy_arn, policy_document, *args)


@wrap(IAMBackend, "attach_role_policy")
def _attach_role_policy(original: Any, self: IAMBackend, policy_arn: str, role_name: str) -> None:
    attached = self.get_role(role_name).managed_policies
    if policy_arn not in attached:
        rules.at_most("iam-attached-policies-per-role", len(attached) + 1)
    original(self, policy_arn, role_name)


# --- Principals


def _stamp(cls: type) -> None:
    @wrap(cls, "__init__")
    def _init(original: Any, self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        self.__dict__["_visible"] = states.Timer("iam.visibility")


for _cls in (Role, User, InstanceProfile):
    _stamp(_cls)


def visible(resource: Any) -> bool:
    """Tell whether other requests and services find a role, a user or an instance profile yet."""
    timer = resource.__dict__.get("_visible")
    return timer is None or timer.over()


def find_principal(arn: str) -> Any:
    """Find the role or user with an ARN, in any account; the path may be missing, as names are unique in an account."""
    if not (found := _PRINCIPAL.fullmatch(arn)):
        return None
    account, kind, name = found.groups()
    for identities in list(iam_backends[account].values()):
        known: Any = identities.roles.values() if kind == "role" else identities.users.values()
        for principal in list(known):
            same = principal.arn.split(":")[1] == arn.split(":")[1]
            if principal.arn == arn or (same and principal.name == name):
                return principal
    return None


def _principals(document: str) -> Iterator[str]:
    for statement in _statements(document):
        named = statement.get("Principal", {})
        arns = named.get("AWS", []) if isinstance(named, dict) else []
        yield from [arns] if isinstance(arns, str) else arns


def _check_trust(document: str) -> None:
    rules.at_most("iam-trust-policy-size", _length(document))
    for arn in _principals(document):
        if not _PRINCIPAL.fullmatch(arn):
            continue
        principal = find_principal(arn)
        if principal is None:
            rules.refuse("iam-trusted-principal", arn)
        elif not visible(principal):
            rules.refuse("iam-fresh-principal", arn)


@wrap(IAMBackend, "create_role")
def _create_role(
    original: Any, self: IAMBackend, role_name: str, assume_role_policy_document: str, *args: Any, **kwargs: Any
) -> Any:
    _check_trust(assume_role_policy_document)
    return original(self, role_name, assume_role_policy_document, *args, **kwargs)


@wrap(IAMBackend, "update_assume_role_policy")
def _update_assume_role_policy(original: Any, self: IAMBackend, role_name: str, policy_document: str) -> None:
    _check_trust(policy_document)
    original(self, role_name, policy_document)


@wrap(IAMBackend, "add_role_to_instance_profile")
def _add_role_to_instance_profile(original: Any, self: IAMBackend, profile_name: str, role_name: str) -> None:
    original(self, profile_name, role_name)
    self.get_instance_profile(profile_name).__dict__["_role_visible"] = states.Timer("iam.visibility")


def check_profile(profile: InstanceProfile) -> None:
    """Refuse an instance profile that EC2 does not find yet, or that has no role yet."""
    if not visible(profile):
        rules.refuse("ec2-fresh-profile", profile.name)
    timer = profile.__dict__.get("_role_visible")
    if not profile.roles or (timer is not None and not timer.over()):
        rules.refuse("ec2-profile-without-role", profile.arn)


# --- OIDC providers


@wrap(IAMBackend, "create_open_id_connect_provider")
def _create_provider(original: Any, self: IAMBackend, url: str, thumbprint_list: list[str], *args: Any) -> Any:
    # The API reference leaves open whether IAM reads the discovery document or only connects to the host for the
    # certificate. This is the stricter of the two.
    if not thumbprint_list and not webidentity.published(url):
        rules.refuse("iam-oidc-thumbprint", url)
    return original(self, url, thumbprint_list, *args)
