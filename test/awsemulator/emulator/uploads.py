"""Objects of S3 that are uploaded by the holder of a presigned URL, and buckets with an expected owner.

A URL permits the one request that was signed, until it expires:
https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
from typing import Any
from urllib.parse import parse_qsl, quote

from moto.iam.models import iam_backends
from moto.s3.exceptions import NoSuchUpload
from moto.s3.models import S3Backend, s3_backends
from moto.sts.models import sts_backends

from . import wire
from .patching import wrap

Refusal = tuple[int, str, str]

_ANY_SECRET = "any"  # of root credentials, see Emulator.Config


def refusal(request: wire.Request, environ: dict[str, Any]) -> Refusal | None:
    """Tell why S3 refuses a request, or None."""
    if request.service != "s3":
        return None
    query = dict(parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True))
    if "X-Amz-Signature" in query and (wrong := _judge_signature(environ, query)):
        return wrong
    if not request.access_key and environ["REQUEST_METHOD"] not in ("GET", "HEAD", "OPTIONS"):
        return 403, "AccessDenied", "Access Denied"  # a public policy of these buckets permits reading only
    owner, bucket = environ.get("HTTP_X_AMZ_EXPECTED_BUCKET_OWNER"), _bucket(request)
    account = s3_backends.bucket_accounts.get(bucket, ("", ""))[1]
    if owner and account and owner != account:
        return 403, "AccessDenied", "Access Denied"
    if checksum := environ.get("HTTP_CONTENT_MD5"):
        if base64.b64encode(hashlib.md5(request.body).digest()).decode() != checksum:
            return 400, "BadDigest", "The Content-MD5 you specified did not match what we received."
    return None


def _bucket(request: wire.Request) -> str:
    if ".s3." in request.host:
        return request.host.split(".s3.")[0]
    return request.params.get("path", "").removeprefix("/").partition("/")[0]


def _judge_signature(environ: dict[str, Any], query: dict[str, str]) -> Refusal | None:
    key, date, region, service, _ = query["X-Amz-Credential"].split("/")
    begun = datetime.datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.UTC)
    if begun + datetime.timedelta(seconds=int(query["X-Amz-Expires"])) < datetime.datetime.now(datetime.UTC):
        return 403, "AccessDenied", "Request has expired"
    signed = sorted(query["X-Amz-SignedHeaders"].split(";"))
    parts = sorted((quote(k, safe="-_.~"), quote(v, safe="-_.~")) for k, v in query.items() if k != "X-Amz-Signature")
    canonical = "\n".join(
        [
            environ["REQUEST_METHOD"],
            environ["RAW_URI"].split("?", 1)[0],
            "&".join(f"{k}={v}" for k, v in parts),
            *(f"{name}:{_header(environ, name)}" for name in signed),
            "",
            ";".join(signed),
            "UNSIGNED-PAYLOAD",
        ]
    )
    scope = f"{date}/{region}/{service}/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{query['X-Amz-Date']}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    derived = b"AWS4" + _secret(key).encode()
    for part in (date, region, service, "aws4_request", text):
        derived = hmac.new(derived, part.encode(), hashlib.sha256).digest()
    if not hmac.compare_digest(derived.hex(), query["X-Amz-Signature"]):
        return 403, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided."
    return None


def _header(environ: dict[str, Any], name: str) -> str:
    name = name.upper().replace("-", "_")
    return str(environ.get(name if name in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{name}", "")).strip()


def _secret(key: str) -> str:
    for partitions in list(sts_backends.values()):
        for backend in list(partitions.values()):
            if role := backend.get_assumed_role_from_access_key(key):
                return str(role.secret_access_key)
    for identities in list(iam_backends.values()):
        for identity in list(identities.values()):
            if found := identity.access_keys.get(key):
                return str(found.secret_access_key)
    return _ANY_SECRET


@wrap(S3Backend, "upload_part")
def _upload_part(original: Any, self: S3Backend, bucket_name: str, multipart_id: str, *args: Any, **kwargs: Any) -> Any:
    if multipart_id not in self.get_bucket(bucket_name).multiparts:
        raise NoSuchUpload(multipart_id)
    return original(self, bucket_name, multipart_id, *args, **kwargs)
