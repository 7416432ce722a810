"""Reading requests and writing errors in each service's own protocol.

The call log and the faults must name service and action before moto has parsed
anything, and an injected error must look exactly as the service would send it:
the SDKs decide by its code whether to retry.
"""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote
from xml.sax.saxutils import escape

from moto.core.request import Request as MotoRequest
from moto.core.routing import get_service_router
from werkzeug.exceptions import NotFound

_CREDENTIAL = re.compile(r"Credential=(?P<key>[^/]+)/[^/]+/(?P<region>[^/]+)/(?P<service>[^/]+)/")
_REQUEST_ID = "00000000-0000-0000-0000-000000000000"
_LONGEST_LOGGED_BODY = 4096
_XML_ERRORS = ("sts", "iam", "elasticloadbalancing", "route53", "autoscaling", "cloudformation")


@dataclass
class Request:
    """What can be said of a request before anybody has handled it."""

    service: str = ""
    action: str = ""
    region: str = ""
    access_key: str = ""
    host: str = ""
    params: dict[str, str] = field(default_factory=dict)
    body: bytes = b""  # what is not logged
    acl: str = ""  # of an object of S3
    source: str = ""  # of an object of S3 that is a copy: /bucket/key
    cut: bool = False  # the client has closed the connection before the end


def read(environ: dict[str, Any]) -> Request:
    """Parse service, action and caller, and leave the body readable for moto."""
    request = Request()
    if found := _CREDENTIAL.search(environ.get("HTTP_AUTHORIZATION", "")):
        request.access_key = found["key"]
        request.region = found["region"]
        request.service = found["service"]
    elif found := _CREDENTIAL.search(environ.get("QUERY_STRING", "").replace("%2F", "/")):  # a presigned URL
        request.access_key, request.region, request.service = found["key"], found["region"], found["service"]
    body = _body(environ)
    request.host, request.body = environ.get("HTTP_HOST", ""), body
    request.acl = environ.get("HTTP_X_AMZ_ACL", "")
    request.source = unquote(environ.get("HTTP_X_AMZ_COPY_SOURCE", ""))
    request.cut = len(body) < int(environ.get("CONTENT_LENGTH") or 0)
    content_type = environ.get("CONTENT_TYPE", "")
    if content_type.startswith("application/x-www-form-urlencoded"):
        form = {k: v[0] for k, v in parse_qs(body.decode(), keep_blank_values=True).items()}
        request.action = form.pop("Action", "")
        form.pop("Version", None)
        form.pop("WebIdentityToken", None)  # a secret: the log is for everybody
        request.params = form
        if not request.service and request.action.startswith("AssumeRoleWith"):
            request.service = "sts"
    elif target := environ.get("HTTP_X_AMZ_TARGET"):
        request.action = target.split(".")[-1]
        request.params = {"body": body[:_LONGEST_LOGGED_BODY].decode(errors="replace")}
    else:
        request.service = request.service or "s3"  # only S3 takes unsigned REST requests
        request.action = _rest_action(request.service, environ)
        request.params = {"path": environ.get("PATH_INFO", "")}
        if query := environ.get("QUERY_STRING"):
            request.params["query"] = query
        if body and request.service != "s3":
            request.params["body"] = body[:_LONGEST_LOGGED_BODY].decode(errors="replace")
    return request


def is_query(service: str) -> bool:
    """Tell whether a service answers in XML, with errors as in the query protocol. EC2 and S3 have forms of their own."""
    return service in _XML_ERRORS


def error(request: Request, status: int, code: str, message: str) -> tuple[int, str, bytes]:
    """Give status, content type and body of an error as request.service would send it."""
    code, message = escape(code), escape(message)
    if request.service == "ec2":
        text = (
            f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors>"
            f"<RequestID>{_REQUEST_ID}</RequestID></Response>"
        )
    elif request.service == "s3":
        text = f"<Error><Code>{code}</Code><Message>{message}</Message><RequestId>{_REQUEST_ID}</RequestId></Error>"
    elif is_query(request.service):
        sender = "Receiver" if status >= 500 else "Sender"
        text = (
            f"<ErrorResponse><Error><Type>{sender}</Type><Code>{code}</Code><Message>{message}</Message></Error>"
            f"<RequestId>{_REQUEST_ID}</RequestId></ErrorResponse>"
        )
    else:
        return status, "application/x-amz-json-1.1", json.dumps({"__type": code, "message": message}).encode()
    return status, "text/xml", text.encode()


def error_code(body: bytes) -> str:
    """Read the error code out of an answer, whichever protocol it is in."""
    if found := re.search(rb"<Code>([^<]*)</Code>", body):
        return found[1].decode()
    if found := re.search(rb'"__type"\s*:\s*"([^"]*)"', body):
        return found[1].decode().split("#")[-1]
    return ""


def _body(environ: dict[str, Any]) -> bytes:
    length = int(environ.get("CONTENT_LENGTH") or 0)
    body: bytes = environ["wsgi.input"].read(length) if length else b""
    environ["wsgi.input"] = io.BytesIO(body)
    return body


def _rest_action(service: str, environ: dict[str, Any]) -> str:
    body = environ["wsgi.input"]
    try:
        operation, _ = get_service_router(service).match(MotoRequest(dict(environ)))
        return str(operation.name)
    except (NotFound, NotImplementedError, ValueError):
        return ""
    except Exception as unknown:  # botocore raises its own type for a service that it does not know
        if type(unknown).__name__ in ("UnknownServiceError", "DataNotFoundError"):
            return ""
        raise
    finally:
        body.seek(0)
