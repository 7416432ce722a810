"""The time in a signature: AWS refuses a request of a client whose clock is wrong by more than a tolerance.

The answer has the time of AWS in its header Date, by which the SDKs correct themselves. Sources:
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html (RequestExpired),
https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html (RequestTimeTooSkewed),
https://docs.aws.amazon.com/IAM/latest/UserGuide/signature-v4-troubleshooting.html (five minutes, SignatureDoesNotMatch)
"""

from __future__ import annotations

import datetime
from typing import Any

from . import wire

Refusal = tuple[int, str, str]

_FORMAT = "%Y%m%dT%H%M%SZ"
_OF_MOST_SERVICES = datetime.timedelta(minutes=5)
_OF_EC2_AND_S3 = datetime.timedelta(minutes=15)


def refusal(request: wire.Request, environ: dict[str, Any]) -> Refusal | None:
    """Tell why AWS refuses the time of a signed request, or None."""
    text = environ.get("HTTP_X_AMZ_DATE")
    if not request.access_key or not text:
        return None
    now = datetime.datetime.now(datetime.UTC)
    try:
        signed = datetime.datetime.strptime(text, _FORMAT).replace(tzinfo=datetime.UTC)
    except ValueError:
        return 400, "IncompleteSignature", "Date must be in ISO-8601 'basic format'."
    tolerance = _OF_EC2_AND_S3 if request.service in ("ec2", "s3") else _OF_MOST_SERVICES
    if abs(now - signed) <= tolerance:
        return None
    if request.service == "ec2":
        return 400, "RequestExpired", "Request has expired."
    if request.service == "s3":
        return 403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large."
    code = "SignatureDoesNotMatch" if wire.is_query(request.service) else "InvalidSignatureException"
    if signed < now:
        limit, word, relation, sign = now - tolerance, "expired", "is now earlier than", "-"
    else:
        limit, word, relation, sign = now + tolerance, "not yet current", "is still later than", "+"
    return (
        403 if code == "SignatureDoesNotMatch" else 400,
        code,
        f"Signature {word}: {text} {relation} {limit:{_FORMAT}} ({now:{_FORMAT}} {sign} 5 min.)",
    )
