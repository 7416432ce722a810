"""Buckets as they are since April 2023: no public policies, no access control lists.

A change of the public access block holds for policies seconds later: the delay "s3.publicAccess".

All calls count as calls with TLS for policies of buckets.
"""

from __future__ import annotations

import json
from typing import Any

from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.s3.models import FakeBucket, PublicAccessBlock, S3Backend
from moto.s3.responses import S3Response

from . import rules, states
from .patching import wrap


@wrap(FakeBucket, "__init__")
def _init_bucket(original: Any, self: FakeBucket, *args: Any, **kwargs: Any) -> None:
    original(self, *args, **kwargs)
    if rules.enforced("s3-public-policy"):
        self.public_access_block = PublicAccessBlock(True, True, True, True)


def _note_former(bucket: FakeBucket) -> None:
    bucket.__dict__["_former"] = bucket.public_access_block, states.Timer("s3.publicAccess")


@wrap(S3Backend, "put_public_access_block")
def _put_public_access_block(original: Any, self: S3Backend, bucket_name: str, configuration: Any) -> None:
    _note_former(self.get_bucket(bucket_name))
    original(self, bucket_name, configuration)


@wrap(S3Backend, "delete_public_access_block")
def _delete_public_access_block(original: Any, self: S3Backend, bucket_name: str) -> None:
    _note_former(self.get_bucket(bucket_name))
    original(self, bucket_name)


def _blocks_public_policies(bucket: FakeBucket) -> bool:
    block = bucket.public_access_block
    former, changed = bucket.__dict__.get("_former", (None, None))
    if changed is not None and not changed.over():
        block = former
    return block is not None and bool(block.block_public_policy)


@wrap(S3Backend, "put_bucket_policy")
def _put_bucket_policy(original: Any, self: S3Backend, bucket_name: str, policy: bytes) -> None:
    if _public(policy) and _blocks_public_policies(self.get_bucket(bucket_name)):
        rules.refuse("s3-public-policy", bucket_name)
    original(self, bucket_name, policy)


def _public(policy: bytes) -> bool:
    """Tell whether a policy lets everybody in: a condition may narrow it to known callers."""
    try:
        statements = json.loads(policy)["Statement"]
    except (ValueError, KeyError, TypeError):
        return False
    for statement in statements if isinstance(statements, list) else [statements]:
        principal = statement.get("Principal")
        named = principal.get("AWS") if isinstance(principal, dict) else principal
        everybody = named == "*" or (isinstance(named, list) and "*" in named)
        if statement.get("Effect") == "Allow" and everybody and not statement.get("Condition"):
            return True
    return False


@wrap(FakeBucket, "get_permission")
def _get_permission(original: Any, self: FakeBucket, action: str, resource: str) -> Any:
    # Moto denies whatever a statement with a condition is about, also if the condition does not hold.
    if self.policy is None:
        return original(self, action, resource)
    document = json.loads(self.policy)
    statements = document["Statement"]
    document["Statement"] = [
        s for s in (statements if isinstance(statements, list) else [statements]) if not _denies_without_tls(s)
    ]
    if not document["Statement"]:
        return PermissionResult.NEUTRAL
    return IAMPolicy(json.dumps(document)).is_action_permitted(action, resource)


def _denies_without_tls(statement: dict[str, Any]) -> bool:
    return statement.get("Effect") == "Deny" and statement.get("Condition") == {
        "Bool": {"aws:SecureTransport": "false"}
    }


@wrap(S3Response, "_acl_from_headers")
def _acl_from_headers(original: Any, self: S3Response, headers: Any) -> Any:
    # The owner of a bucket owns all objects unless the bucket has another rule of ownership.
    named = any(header.lower().startswith(("x-amz-acl", "x-amz-grant-")) for header in dict(headers))
    bucket = self.backend.buckets.get(self.bucket_name)
    if named and headers.get("x-amz-acl") != "bucket-owner-full-control" and bucket and not bucket.ownership_rule:
        rules.refuse("s3-access-control-lists", self.bucket_name)
    return original(self, headers)
