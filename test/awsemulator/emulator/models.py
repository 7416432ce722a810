"""Requests, judged by the service models that AWS publishes with its SDKs.

moto takes what it needs out of a request and ignores the rest: a member that does not
exist, a name that is too long, a value that no enumeration has. AWS refuses those. Each
request is parsed here by its own protocol, and every value is compared with its shape:
unknown and missing members, types, enumerations, lengths, ranges and patterns. botocore's
own validator leaves out patterns, enumerations and maxima.

A request that fails is refused with the service's own code, and remembered for its account:
the test that made it fails, whether or not the program under test minds the refusal.
"""

from __future__ import annotations

import base64
import binascii
import functools
import json
import re
import threading
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote
from xml.etree import ElementTree

import botocore.exceptions
import botocore.model
import botocore.session
from moto.core.request import Request as MotoRequest
from moto.core.routing import get_service_router
from werkzeug.exceptions import HTTPException

from . import documented, wire

Shape = Any  # botocore has no types
Form = dict[str, Any]

# Signing names that are not the names of botocore's models.
_MODELS = {"servicequotas": "service-quotas", "tagging": "resourcegroupstaggingapi", "monitoring": "cloudwatch"}
_CLASSIC_LOAD_BALANCING = "2012-06-01"

# Parameters of the query protocols that no model has.
_ENVELOPE = {"Action", "Version"}


@dataclass(frozen=True)
class Violation:
    """One thing in a request that the model does not allow."""

    kind: str  # unknown, required, type, enum, length, range, pattern, operation
    path: str  # of the member, such as Tags.1.Value
    value: str
    words: str  # the constraint, in the words of AWS
    in_body: bool = True


@dataclass(frozen=True)
class Refused:
    """A request that AWS would have refused."""

    account: str
    role: str
    service: str
    action: str
    code: str
    message: str


_refused: list[Refused] = []
_lock = threading.Lock()


def remember(refused: Refused) -> None:
    """Keep a refused request for the test that owns the account."""
    with _lock:
        _refused.append(refused)


def take(account: str) -> list[dict[str, str]]:
    """Give the refused requests of an account, or of all, and forget them."""
    with _lock:
        taken = [r for r in _refused if account in ("", r.account)]
        _refused[:] = [r for r in _refused if account not in ("", r.account)]
    return [asdict(r) for r in taken]


def judge(request: wire.Request, environ: dict[str, Any]) -> tuple[int, str, str] | None:
    """Give status, code and message of the refusal, or None if the model allows the request."""
    model = service_model(request)
    if model is None:
        return None
    protocol = model.metadata["protocol"]
    violations: list[Violation]
    # A client may use another protocol that the service has, or a form in the URL: moto understands them.
    if protocol in ("query", "ec2") and environ.get("CONTENT_TYPE", "").startswith("application/x-www-form-urlencoded"):
        if request.action not in model.operation_names:
            return 400, "InvalidAction", f"The action {request.action} is not valid for this web service."
        violations = list(_judge_query(model, protocol, request))
    elif protocol == "json" and "HTTP_X_AMZ_TARGET" in environ:
        if request.action not in model.operation_names:
            return 400, "UnknownOperationException", f"There is no operation {request.action}."
        violations = list(_judge_json(model, request))
    elif protocol in ("rest-xml", "rest-json") and request.access_key:
        violations = list(_judge_rest(model, protocol, request, environ))
    else:
        return None
    if not violations:
        return None
    code = _CODES.get(request.service, _CODES_OF_PROTOCOLS[protocol])(violations[0])
    return 400, code, _message(protocol, violations)


def _message(protocol: str, violations: list[Violation]) -> str:
    first = violations[0]
    if protocol == "ec2":
        match first.kind:
            case "unknown":
                return f"The parameter {first.path} is not recognized"
            case "required":
                return f"The request must contain the parameter {first.path}"
            case _:
                return f"Value ({first.value}) for parameter {first.path} is invalid. {first.words}"
    found = []
    for v in violations:
        value = "null" if v.kind == "required" else repr(v.value)
        found.append(f"Value {value} at '{v.path}' failed to satisfy constraint: {v.words}")
    return f"{len(found)} validation error{'s' if len(found) > 1 else ''} detected: {'; '.join(found)}"


def _ec2_code(violation: Violation) -> str:
    return {"unknown": "UnknownParameter", "required": "MissingParameter"}.get(violation.kind, "InvalidParameterValue")


def _route53_code(violation: Violation) -> str:
    return "MalformedInput" if violation.kind in ("unknown", "type") else "InvalidInput"


def _s3_code(violation: Violation) -> str:
    return "MalformedXML" if violation.in_body else "InvalidArgument"


def _json_code(violation: Violation) -> str:
    return "SerializationException" if violation.kind == "type" else "ValidationException"


_CODES: dict[str, Callable[[Violation], str]] = {"route53": _route53_code, "s3": _s3_code}
_CODES_OF_PROTOCOLS: dict[str, Callable[[Violation], str]] = {
    "ec2": _ec2_code,
    "query": lambda _: "ValidationError",
    "json": _json_code,
    "rest-json": _json_code,
    "rest-xml": _route53_code,
}


def service_model(request: wire.Request) -> Any:
    """Give the model of the service that a request is for, or None if botocore has none."""
    name = _MODELS.get(request.service, request.service)
    if name == "elasticloadbalancing":
        name = "elb" if b"Version=" + _CLASSIC_LOAD_BALANCING.encode() in request.body else "elbv2"
    return load(name)


_loading = threading.Lock()


def load(name: str) -> Any:
    """Load a model of botocore by its name there."""
    with _loading:
        return _load(name)


@functools.cache
def _load(name: str) -> Any:
    try:
        return botocore.session.get_session().get_service_model(name)
    except (botocore.exceptions.UnknownServiceError, botocore.exceptions.DataNotFoundError):
        return None


# The query protocols.


def _judge_query(model: Any, protocol: str, request: wire.Request) -> Iterator[Violation]:
    tree: Form = {}
    for name, value in parse_qsl(request.body.decode(), keep_blank_values=True):
        if name in _ENVELOPE:
            continue
        node = tree
        for part in name.split("."):
            node = node.setdefault(part, {})
        node[""] = value
    shape = model.operation_model(request.action).input_shape
    if shape is None:
        yield from (Violation("unknown", name, "", "The parameter is not recognized") for name in tree)
        return
    violations: list[Violation] = []
    parsed = _Query(protocol, violations).structure(shape, tree, "")
    yield from violations
    yield from check(model.service_name, shape, parsed)


class _Query:
    """Parses forms; what a shape does not have is a violation."""

    def __init__(self, protocol: str, violations: list[Violation]) -> None:
        self._ec2, self._violations = protocol == "ec2", violations

    def _name(self, name: str, shape: Shape) -> str:
        serialization = shape.serialization
        if self._ec2:
            if "queryName" in serialization:
                return str(serialization["queryName"])
            name = serialization.get("name", name)
            return name[0].upper() + name[1:]
        if shape.type_name == "list" and serialization.get("flattened"):
            name = shape.member.serialization.get("name", name)
        return str(serialization.get("name", name))

    def value(self, shape: Shape, node: Form, path: str) -> Any:
        match shape.type_name:
            case "structure":
                return self.structure(shape, node, path)
            case "list":
                return self._list(shape, node, path)
            case "map":
                return self._map(shape, node, path)
        for part in node:
            if part:
                self._violations.append(Violation("unknown", f"{path}.{part}", "", "The parameter is not recognized"))
        return scalar(shape, node.get("", ""), path, self._violations)

    def structure(self, shape: Shape, node: Form, path: str) -> dict[str, Any]:
        members = {self._name(name, member): (name, member) for name, member in shape.members.items()}
        found = {}
        for part, below in node.items():
            if part == "":
                if below:
                    self._violations.append(Violation("type", path, below, "Member must be a structure"))
                continue
            if part not in members:
                full = _join(path, part)
                self._violations.append(Violation("unknown", full, "", "The parameter is not recognized"))
                continue
            name, member = members[part]
            found[name] = self.value(member, below, _join(path, part))
        return found

    def _items(self, node: Form, path: str) -> Iterator[tuple[str, Form]]:
        for part, below in node.items():
            if part.isdigit():
                yield _join(path, part), below
            elif part or below:
                self._violations.append(
                    Violation("unknown", _join(path, part) if part else path, "", "The parameter is not recognized")
                )

    def _list(self, shape: Shape, node: Form, path: str) -> list[Any]:
        if not self._ec2 and not shape.serialization.get("flattened"):
            name = shape.member.serialization.get("name", "member")
            node = self._only(node, name, path)
            path = _join(path, name)
        return [self.value(shape.member, below, at) for at, below in self._items(node, path)]

    def _map(self, shape: Shape, node: Form, path: str) -> dict[Any, Any]:
        if not shape.serialization.get("flattened"):
            node = self._only(node, "entry", path)
            path = _join(path, "entry")
        key_name = shape.key.serialization.get("name", "key")
        value_name = shape.value.serialization.get("name", "value")
        found = {}
        for at, below in self._items(node, path):
            key = self.value(shape.key, below.get(key_name, {}), _join(at, key_name))
            found[key] = self.value(shape.value, below.get(value_name, {}), _join(at, value_name))
        return found

    def _only(self, node: Form, name: str, path: str) -> Form:
        for part, below in node.items():
            if part not in ("", name) or (part == "" and below):
                self._violations.append(Violation("unknown", _join(path, part), "", "The parameter is not recognized"))
        below = node.get(name, {})
        return below if isinstance(below, dict) else {}


def _join(path: str, part: str) -> str:
    return f"{path}.{part}" if path else part


def scalar(shape: Shape, text: str, path: str, violations: list[Violation]) -> Any:
    """Parse what every textual protocol writes alike; None if it cannot be parsed."""
    try:
        match shape.type_name:
            case "integer" | "long":
                return int(text)
            case "float" | "double":
                return float(text)
            case "boolean":
                return {"true": True, "false": False}[text.lower()]
            case "blob":
                return base64.b64decode(text, validate=True)
            case "timestamp":
                return None  # in forms that depend on its place; no shape limits it
            case _:
                return text
    except (ValueError, KeyError, binascii.Error):
        violations.append(Violation("type", path, text, f"Member must be of type {shape.type_name}"))
        return None


# The JSON protocols.

_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "structure": (dict,),
    "map": (dict,),
    "list": (list,),
    "string": (str,),
    "character": (str,),
    "blob": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
    "timestamp": (int, float, str),
}


def _judge_json(model: Any, request: wire.Request) -> Iterator[Violation]:
    shape = model.operation_model(request.action).input_shape
    if shape is None:
        return
    violations: list[Violation] = []
    value = _parse_json(shape, _decode(request.body, violations), "", violations)
    yield from violations
    if value is not None:
        yield from check(model.service_name, shape, value)


def _decode(body: bytes, violations: list[Violation]) -> Any:
    try:
        return json.loads(body or b"{}")
    except ValueError:
        violations.append(Violation("type", "", "", "The body must be JSON"))
        return None


def _parse_json(shape: Shape, value: Any, path: str, violations: list[Violation]) -> Any:
    if value is None:
        return None
    kinds: Any = _JSON_TYPES[shape.type_name]
    if getattr(shape, "is_document_type", False):
        return None
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        violations.append(Violation("type", path, str(value), f"Member must be of type {shape.type_name}"))
        return None
    match shape.type_name:
        case "structure":
            names = {m.serialization.get("name", n): (n, m) for n, m in shape.members.items()}
            found = {}
            for key, below in value.items():
                if key not in names:
                    violations.append(Violation("unknown", _join(path, key), "", "The member is not recognized"))
                else:
                    name, member = names[key]
                    found[name] = _parse_json(member, below, _join(path, key), violations)
            return found
        case "list":
            return [_parse_json(shape.member, v, _join(path, str(i + 1)), violations) for i, v in enumerate(value)]
        case "map":
            return {k: _parse_json(shape.value, v, _join(path, k), violations) for k, v in value.items()}
        case "blob":
            return scalar(shape, value, path, violations)
        case "timestamp":
            return None
        case _:
            return value


# The REST protocols.

_VIRTUAL_HOST = re.compile(r"(?P<bucket>.+)\.s3[.-]")


def _judge_rest(model: Any, protocol: str, request: wire.Request, environ: dict[str, Any]) -> Iterator[Violation]:
    operation, labels = _match(request, environ)
    if operation is None or operation.name not in model.operation_names:
        return  # moto answers that there is no such operation
    modelled = model.operation_model(operation.name)
    shape = modelled.input_shape
    if shape is None:
        return
    violations: list[Violation] = []
    value = _labels_and_headers(modelled, labels, environ, violations)
    value.update(_rest_body(protocol, shape, request, environ, violations))
    yield from violations
    for violation in check(model.service_name, shape, value):
        top = violation.path.split(".")[0]
        member = shape.members.get(top)
        in_body = member is None or "location" not in member.serialization
        yield Violation(violation.kind, violation.path, violation.value, violation.words, in_body)


def _match(request: wire.Request, environ: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    path = dict(environ)
    if request.service == "s3" and (found := _VIRTUAL_HOST.match(request.host)):
        path["PATH_INFO"] = f"/{found['bucket']}{environ.get('PATH_INFO', '/')}"
    try:
        operation, labels = get_service_router(request.service).match(MotoRequest(path))
    except (HTTPException, NotImplementedError, ValueError):
        return None, {}
    except botocore.exceptions.BotoCoreError:
        return None, {}
    finally:
        environ["wsgi.input"].seek(0)
    return operation, dict(labels)


def _labels_and_headers(
    operation: Any, labels: dict[str, Any], environ: dict[str, Any], violations: list[Violation]
) -> dict[str, Any]:
    value: dict[str, Any] = {}
    query = dict(parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True))
    for constant, _ in parse_qsl(operation.http["requestUri"].partition("?")[2], keep_blank_values=True):
        query.pop(constant, None)
    for name, member in operation.input_shape.members.items():
        location, wire_name = member.serialization.get("location"), member.serialization.get("name", name)
        text: str | None = None
        match location:
            case "uri":
                text = labels.get(wire_name.replace("-", "_HYPHEN_"), labels.get(wire_name))
                text = unquote(text) if text is not None else None
            case "querystring" if member.type_name == "map":
                value[name], query = query, {}
                continue
            case "querystring":
                text = query.pop(wire_name, None)
            case "header":
                key = wire_name.upper().replace("-", "_")
                text = environ.get(key if key.startswith("CONTENT_") and key in environ else f"HTTP_{key}")
                if key == "CONTENT_LENGTH" or member.type_name == "list":
                    continue
        if text is not None:
            value[name] = [text] if member.type_name == "list" else scalar(member, text, name, violations)
    for unknown in query:
        # x-id names the operation for logs; the others are a signature.
        if unknown != "x-id" and not unknown.startswith("X-Amz-"):
            violations.append(Violation("unknown", unknown, "", "The parameter is not recognized", in_body=False))
    return value


def _rest_body(
    protocol: str, shape: Shape, request: wire.Request, environ: dict[str, Any], violations: list[Violation]
) -> dict[str, Any]:
    payload = shape.serialization.get("payload")
    if payload and shape.members[payload].type_name != "structure":
        return {payload: None} if request.body else {}  # any bytes
    body = shape.members[payload] if payload else shape
    outside = {n for n, m in body.members.items() if "location" in m.serialization} if body is shape else set()
    if not request.body:
        return {}
    if "aws-chunked" in environ.get("HTTP_CONTENT_ENCODING", ""):
        return {payload: None} if payload else {}
    if protocol == "rest-json":
        found = _parse_json(body, _decode(request.body, violations), "", violations)
    else:
        try:
            root = ElementTree.fromstring(request.body)
        except ElementTree.ParseError as error:
            violations.append(Violation("type", "", str(error), "The body must be XML"))
            return {}
        found = _parse_xml(body, root, "", outside, violations)
    if found is None:
        return {}
    return {payload: found} if payload else found


def _local(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _parse_xml(
    shape: Shape, element: ElementTree.Element, path: str, outside: set[str], violations: list[Violation]
) -> Any:
    match shape.type_name:
        case "structure":
            names = {
                (m.member.serialization.get("name") if _flat(m) else None) or m.serialization.get("name", n): (n, m)
                for n, m in shape.members.items()
                if n not in outside
            }
            found: dict[str, Any] = {}
            for child in element:
                at = _join(path, _local(child))
                if _local(child) not in names:
                    violations.append(Violation("unknown", at, "", "The element is not recognized"))
                    continue
                name, member = names[_local(child)]
                if _flat(member):
                    found.setdefault(name, []).append(_parse_xml(member.member, child, at, set(), violations))
                else:
                    found[name] = _parse_xml(member, child, at, set(), violations)
            return found
        case "list":
            name = shape.member.serialization.get("name", "member")
            items = []
            for child in element:
                if _local(child) != name:
                    violations.append(
                        Violation("unknown", _join(path, _local(child)), "", "The element is not recognized")
                    )
                else:
                    items.append(_parse_xml(shape.member, child, _join(path, name), set(), violations))
            return items
        case "map":
            return None  # no request of ours has one
        case _:
            return scalar(shape, element.text or "", path, violations)


def _flat(shape: Shape) -> bool:
    return shape.type_name == "list" and bool(shape.serialization.get("flattened"))


# Values.

_LISTED = 40  # how many values of an enumeration an error lists: EC2 has some thousand instance types


def check(service: str, shape: Shape, value: Any, path: str = "") -> Iterator[Violation]:
    """Compare a parsed value with its shape. None is a value that is there, and that nothing limits."""
    match shape.type_name:
        case "structure":
            yield from _check_structure(service, shape, value, path)
        case "list":
            yield from _check_size("size", len(value), shape.metadata, path, str(len(value)))
            for number, item in enumerate(value, 1):
                if item is not None:
                    yield from check(service, shape.member, item, f"{path}.{number}")
        case "map":
            yield from _check_size("size", len(value), shape.metadata, path, str(len(value)))
            for key, item in value.items():
                if isinstance(key, str):
                    yield from _check_text(service, shape.key, key, f"{path}.key")
                if item is not None:
                    yield from check(service, shape.value, item, f"{path}.{key}")
        case "integer" | "long" | "float" | "double":
            yield from _check_range(value, shape.metadata, path)
        case "blob":
            yield from _check_size("length", len(value), shape.metadata, path, "")
        case "string" | "character":
            yield from _check_text(service, shape, value, path)


def _check_structure(service: str, shape: Shape, value: dict[str, Any], path: str) -> Iterator[Violation]:
    for name in shape.required_members:
        if name not in value:
            yield Violation("required", _join(path, name), "", "Member must not be null")
    for name, below in value.items():
        if below is None:
            continue
        at = _join(path, name)
        yield from check(service, shape.members[name], below, at)
        limit = documented.limit(service, shape.name, name)
        if limit is not None and isinstance(below, str):
            bounds = {"min": limit.minimum, "max": limit.maximum}
            yield from _check_size("length", len(below), bounds, at, below)
            yield from _check_pattern(limit.pattern, below, at)


def _check_text(service: str, shape: Shape, value: str, path: str) -> Iterator[Violation]:
    allowed = getattr(shape, "enum", None)
    if allowed and value not in allowed and value not in documented.accepted(service, shape.name):
        some = [*allowed[:_LISTED], "..."] if len(allowed) > _LISTED else allowed
        yield Violation("enum", path, value, f"Member must satisfy enum value set: [{', '.join(some)}]")
    yield from _check_size("length", len(value), shape.metadata, path, value)
    yield from _check_pattern(shape.metadata.get("pattern", ""), value, path)


def _check_size(what: str, size: int, bounds: dict[str, Any], path: str, value: str) -> Iterator[Violation]:
    least, most = bounds.get("min"), bounds.get("max")
    if least is not None and size < least:
        yield Violation("length", path, value, f"Member must have {what} greater than or equal to {least}")
    if most is not None and size > most:
        yield Violation("length", path, value, f"Member must have {what} less than or equal to {most}")


def _check_range(value: float, bounds: dict[str, Any], path: str) -> Iterator[Violation]:
    least, most = bounds.get("min"), bounds.get("max")
    if least is not None and value < least:
        yield Violation("range", path, str(value), f"Expecting a value greater than or equal to {least}.")
    if most is not None and value > most:
        yield Violation("range", path, str(value), f"Expecting a value less than or equal to {most}.")


def _check_pattern(pattern: str, value: str, path: str) -> Iterator[Violation]:
    if pattern and not compiled(pattern).fullmatch(value):
        words = f"Member must satisfy regular expression pattern: {pattern}"
        yield Violation("pattern", path, value, words)


_CATEGORY = re.compile(r"\\p\{(?:Is)?([A-Za-z]+)\}")
_POSIX = {
    "Alnum": "0-9A-Za-z",
    "Alpha": "A-Za-z",
    "Digit": "0-9",
    "Graph": "!-~",
    "Print": " -~",
    "ASCII": "\\x00-\\x7f",
}
BEYOND_BMP = re.compile(r"\\u[dD]800\\u[dD][cC]00-\\u[dD][bB][fF][fF]\\u[dD][fF][fF][fF]")
_CODE_POINT = re.compile(r"\\x\{([0-9A-Fa-f]+)\}")
HYPHEN = re.compile(r"(\\[wds])-(?=[^\]])")  # Java takes it for itself after a class of characters


@functools.cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of a model. They are those of Java, which has Unicode categories."""
    text = BEYOND_BMP.sub(lambda _: "\\U00010000-\\U0010FFFF", pattern)
    text = _CODE_POINT.sub(lambda found: f"\\U{int(found[1], 16):08X}", text)
    text = HYPHEN.sub(r"\1\\-", text)

    def ranges(found: re.Match[str]) -> str:
        inside = _POSIX.get(found[1]) or _category(found[1])
        before = text[: found.start()]
        opened = before.replace("\\[", "").replace("\\]", "")
        return inside if opened.rfind("[") > opened.rfind("]") else f"[{inside}]"

    return re.compile(_CATEGORY.sub(ranges, text), re.ASCII)


@functools.cache
def _category(name: str) -> str:
    """Write the code points of a Unicode category, such as L or Nd, for a character class."""
    spans: list[list[int]] = []
    for point in range(0x110000):
        if unicodedata.category(chr(point)).startswith(name):
            if spans and spans[-1][1] == point - 1:
                spans[-1][1] = point
            else:
                spans.append([point, point])
    return "".join(f"\\U{first:08X}-\\U{last:08X}" for first, last in spans)
