"""Whose request it is.

The access key id of an account's root credentials is the account id itself, so
a test makes a new account by using a new number. Keys that STS or IAM issued
belong to the account that issued them. Any other key is refused, as AWS does:
a typo must not end up in a default account where nobody looks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from moto.core.responses import BaseResponse
from moto.iam import models as iam
from moto.sts.models import STSBackend, sts_backends
from moto.utilities.utils import get_partition

from .patching import wrap

_ACCOUNT_ID = re.compile(r"\d{12}")
_CREDENTIAL = re.compile(r"Credential=([^/]+)/")


@dataclass(frozen=True)
class Caller:
    """An authenticated caller: the account, and the role session if it is one."""

    account: str
    arn: str
    role: str = ""
    # The credentials are of the global endpoint of STS, and are valid only in the regions that are enabled by default.
    default_regions: bool = False


def find(access_key: str) -> Caller | None:
    """Tell who uses access_key, or None if nobody ever issued it."""
    if _ACCOUNT_ID.fullmatch(access_key):
        return Caller(access_key, f"arn:aws:iam::{access_key}:root")
    for account, partitions in list(sts_backends.items()):
        for backend in list(partitions.values()):
            if role := backend.get_assumed_role_from_access_key(access_key):
                return Caller(account, role.arn, role.role_arn, getattr(role, "of_global_endpoint", False))
    for account, identities in list(iam.iam_backends.items()):
        for identity in list(identities.values()):
            if access_key in identity.access_keys:
                user = identity.get_user_from_access_key_id(access_key)
                return Caller(account, user.arn if user else f"arn:aws:iam::{account}:root")
    return None


@wrap(BaseResponse, "get_access_key")
def _get_access_key(original: Any, self: BaseResponse) -> str:
    # moto only recognizes keys of 20 capitals and digits.
    found = _CREDENTIAL.search(self.headers.get("Authorization", "")) or _CREDENTIAL.search(self.uri.replace("%2F", "/"))
    return found[1] if found else original(self)


@wrap(iam, "get_account_id_from")
def _get_account_id_from(original: Any, access_key: str) -> str:
    caller = find(access_key)
    return caller.account if caller else original(access_key)


@wrap(STSBackend, "get_caller_identity")
def _get_caller_identity(original: Any, self: STSBackend, access_key_id: str, region: str) -> tuple[str, str, str]:
    if _ACCOUNT_ID.fullmatch(access_key_id):
        return access_key_id, f"arn:{get_partition(region)}:iam::{access_key_id}:root", access_key_id
    return original(self, access_key_id, region)
