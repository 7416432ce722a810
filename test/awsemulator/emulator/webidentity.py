"""AssumeRole and AssumeRoleWithWebIdentity, really checked.

moto takes any string for a token and any ARN for a role. Here a token must be
signed by a key that its issuer publishes, and the documents of the issuer are
fetched the way AWS fetches them: anonymously, from the issuer's URL. For the
URL of an S3 bucket that is a public object in this emulator, so a bucket, a
policy, a key id or a discovery document that is wrong shows here.

The keys of an issuer are kept for a while, and a key that is missing is not
looked for earlier. AWS documents neither for STS; for API Gateway it documents
an hour. A key that signs as soon as it is published is refused here.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from moto.core.responses import ActionResult
from moto.iam.models import iam_backends
from moto.sts.exceptions import STSClientError
from moto.sts.responses import TokenResponse

from . import accounts, policy
from .patching import wrap

Fetch = Callable[[str], tuple[int, bytes]]


def _nowhere(url: str) -> tuple[int, bytes]:
    return 404, b""


_fetch: Fetch = _nowhere  # until server.py knows better


def fetch_with(fetch: Fetch) -> None:
    """Say how to get a URL anonymously."""
    global _fetch
    _fetch = fetch


@wrap(TokenResponse, "assume_role")
def _assume_role(original: Any, self: TokenResponse) -> ActionResult:
    role_arn = self._get_param("RoleArn")
    caller = accounts.find(self.access_key)
    context = {"sts:ExternalId": [self._get_param("ExternalId")] if self._get_param("ExternalId") else []}
    principals = {caller.arn, caller.role, caller.account, f"arn:aws:iam::{caller.account}:root"} if caller else set()
    document = _trust_policy(role_arn)
    if document is None or not policy.trusts(document, "sts:AssumeRole", "AWS", principals, context):
        who = caller.arn if caller else "anonymous"
        raise STSClientError(
            "AccessDenied", f"User: {who} is not authorized to perform: sts:AssumeRole on resource: {role_arn}"
        )
    return _note_endpoint(self, original(self))


@wrap(TokenResponse, "assume_role_with_web_identity")
def _assume_role_with_web_identity(original: Any, self: TokenResponse) -> ActionResult:
    role_arn = self._get_param("RoleArn")
    header, claims, signed, signature = _split(self._get_param("WebIdentityToken", ""))
    issuer = str(claims.get("iss", ""))
    provider = issuer.removeprefix("https://")
    audiences = claims.get("aud", [])
    audiences = [audiences] if isinstance(audiences, str) else list(audiences)

    account = role_arn.split(":")[4] if role_arn.count(":") >= 5 else ""
    known = next((p for p in iam_backends[account]["aws"].open_id_providers.values() if p.url == provider), None)
    if known is None:
        raise _invalid(f"No OpenIDConnect provider found in your account for {issuer}")
    if not set(audiences) & set(known.client_id_list):
        raise _invalid("Incorrect token audience")
    _verify(header, signed, signature, _published_key(account, issuer, header.get("kid", "")))
    _check_times(claims)

    context = {
        f"{provider}:sub": [str(claims.get("sub", ""))],
        f"{provider}:aud": audiences,
        "sts:rolesessionname": [str(self._get_param("RoleSessionName"))],
    }
    document = _trust_policy(role_arn)
    action = "sts:AssumeRoleWithWebIdentity"
    if document is None or not policy.trusts(document, action, "Federated", {known.arn}, context):
        raise STSClientError("AccessDenied", f"Not authorized to perform {action}")
    answer = _note_endpoint(self, original(self))
    answer.result.update(SubjectFromWebIdentityToken=claims.get("sub"), Audience=audiences[0], Provider=known.arn)
    return answer


def _note_endpoint(asked: TokenResponse, answer: ActionResult) -> ActionResult:
    """Note at the credentials of an answer whether the global endpoint was asked for them."""
    answer.result["Credentials"].of_global_endpoint = asked.headers.get("Host", "") == "sts.amazonaws.com"  # type: ignore[index]
    return answer


def _trust_policy(role_arn: str) -> Any:
    account = role_arn.split(":")[4] if role_arn.count(":") >= 5 else ""
    for role in iam_backends[account]["aws"].roles.values():
        if role.arn == role_arn:
            return role.assume_role_policy_document
    return None


def _split(token: str) -> tuple[dict[str, Any], dict[str, Any], bytes, bytes]:
    try:
        header, claims, signature = token.split(".")
        return (
            json.loads(_decode(header)),
            json.loads(_decode(claims)),
            f"{header}.{claims}".encode(),
            _decode(signature),
        )
    except ValueError:
        raise _invalid(
            "The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)"
        ) from None


KEPT = 60.0  # seconds

# (account, issuer) -> when its keys were read, and the keys
_kept: dict[tuple[str, str], tuple[float, list[dict[str, Any]]]] = {}
_lifetimes: dict[str, float] = {}  # issuer -> seconds


def keep_keys(lifetimes: dict[str, float]) -> None:
    """Keep the keys of issuers for that many seconds."""
    _lifetimes.update({issuer: float(seconds) for issuer, seconds in lifetimes.items()})


def _published_key(account: str, issuer: str, key_id: str) -> dict[str, Any]:
    """Pick a key of the issuer, as they were read last for the provider of the account."""
    read, keys = _kept.get((account, issuer), (0.0, []))
    if not keys or time.monotonic() - read >= _lifetimes.get(issuer, KEPT):
        keys = _published_keys(issuer)
        _kept[account, issuer] = time.monotonic(), keys
    for key in keys:
        if not key_id or key.get("kid") == key_id:
            return key
    raise _invalid(f"Couldn't retrieve verification key from your identity provider: no key {key_id} of {issuer}")


def _published_keys(issuer: str) -> list[dict[str, Any]]:
    """Read the issuer's discovery document and its key set."""
    unreachable = "Couldn't retrieve verification key from your identity provider"
    status, body = _fetch(issuer.rstrip("/") + "/.well-known/openid-configuration")
    if status != 200:
        raise _invalid(f"{unreachable}: the discovery document of {issuer} answered {status}")
    try:
        discovery = json.loads(body)
        keys_url = discovery["jwks_uri"]
    except (ValueError, KeyError, TypeError):
        raise _invalid(f"{unreachable}: the discovery document of {issuer} is not valid") from None
    if discovery.get("issuer") != issuer:
        raise _invalid(f"{unreachable}: the discovery document of {issuer} names the issuer {discovery.get('issuer')}")
    status, body = _fetch(keys_url)
    if status != 200:
        raise _invalid(f"{unreachable}: {keys_url} answered {status}")
    try:
        keys = [dict(key) for key in json.loads(body)["keys"]]
    except (ValueError, KeyError, TypeError):
        raise _invalid(f"{unreachable}: {keys_url} is not a key set") from None
    return keys


def published(issuer: str) -> bool:
    """Tell whether the discovery document of an issuer can be read."""
    return _fetch(issuer.rstrip("/") + "/.well-known/openid-configuration")[0] == 200


def _verify(header: dict[str, Any], signed: bytes, signature: bytes, key: dict[str, Any]) -> None:
    # AWS takes more algorithms; the keys of our clusters are of these two.
    kind = header.get("alg"), key.get("kty"), key.get("crv")
    try:
        if kind == ("RS256", "RSA", None):
            modulus = rsa.RSAPublicNumbers(_number(key["e"]), _number(key["n"]))
            modulus.public_key().verify(signature, signed, padding.PKCS1v15(), hashes.SHA256())
        elif kind == ("ES256", "EC", "P-256") and len(signature) == 64:
            point = ec.EllipticCurvePublicNumbers(_number(key["x"]), _number(key["y"]), ec.SECP256R1())
            halves = int.from_bytes(signature[:32]), int.from_bytes(signature[32:])
            point.public_key().verify(encode_dss_signature(*halves), signed, ec.ECDSA(hashes.SHA256()))
        else:
            raise _invalid(f"The emulator checks RS256 and ES256 only, this is {kind}")
    except (InvalidSignature, KeyError, ValueError):
        raise _invalid("The signature of the token is not valid") from None


def _check_times(claims: dict[str, Any]) -> None:
    now = time.time()
    expires, issued = claims.get("exp"), claims.get("iat")
    if not isinstance(expires, int | float) or not isinstance(issued, int | float):
        raise _invalid("Missing a required claim: exp, iat")
    if expires <= now:
        raise STSClientError(
            "ExpiredTokenException", "Token expired: current date/time must be before the expiration date/time"
        )
    if max(issued, claims.get("nbf", 0)) > now + 300:  # AWS forgives five minutes of clock skew
        raise _invalid("The token is not valid yet")


def _invalid(message: str) -> STSClientError:
    return STSClientError("InvalidIdentityToken", message)


def _decode(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _number(part: str) -> int:
    return int.from_bytes(_decode(part))


# --- Where an issuer's documents are

_mapped: dict[str, str] = {}  # host -> bucket[/prefix]


def map_issuers(hosts: dict[str, str]) -> None:
    """Serve the documents of issuers with a host of their own from buckets."""
    _mapped.update(hosts)


def reset() -> None:
    """Forget the mapped issuers, and all keys."""
    _mapped.clear()
    _kept.clear()
    _lifetimes.clear()


def locate(url: str) -> tuple[str, str]:
    """Turn a public URL into host and path of an S3 request."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in _mapped:
        return "s3.amazonaws.com", f"/{_mapped[host]}{parts.path}"
    return host, parts.path
