"""python -m emulator.constraints: write what the service models require of some operations, for test/fakeaws.

Standard input is a JSON object {signing name: [operation]}. Standard output has the shapes that limit something, and
leads from each operation to them. Patterns are in the syntax of Go's package regexp.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import botocore

from . import documented, models

_NAMES = {"elasticloadbalancing": "elbv2"}
_UNIT = re.compile(r"\\u([0-9A-Fa-f]{4})")

Rows = dict[str, dict[str, Any]]


def main() -> None:
    """Answer standard input."""
    wanted: dict[str, list[str]] = json.load(sys.stdin)
    services = {signing: _service(_NAMES.get(signing, signing), sorted(wanted[signing])) for signing in sorted(wanted)}
    lines = [f'{{"source": "botocore {botocore.__version__}", "services": {{']
    for number, (signing, service) in enumerate(services.items()):
        lines.append("," * bool(number) + f'{json.dumps(signing)}: {{"operations": {{')
        lines.append(_lines(service["operations"]) + '}, "shapes": {')
        lines.append(_lines(service["shapes"]) + "}}")
    print("\n".join(lines) + "}}")


def _lines(rows: dict[str, Any]) -> str:
    return ",\n".join(f"  {json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())


def _service(name: str, operations: list[str]) -> dict[str, Any]:
    model = models.load(name)
    rows: Rows = {}
    inputs = {}
    for operation in operations:
        shape = model.operation_model(operation).input_shape
        if shape is not None and (row := _add(name, shape, rows, [])):
            inputs[operation] = row
    return {"operations": inputs, "shapes": {key: rows[key] for key in sorted(rows)}}


def _add(service: str, shape: Any, rows: Rows, above: list[str]) -> str:
    """Add the row of a shape and those below it; give its name, or "" if it limits nothing."""
    if shape.name in rows:
        return str(shape.name)
    if shape.name in above:
        raise ValueError(f"{shape.name} contains itself")
    row: dict[str, Any] = {}
    above = [*above, shape.name]
    match shape.type_name:
        case "structure":
            members = {}
            for name, member in shape.members.items():
                if below := _member(service, shape.name, name, member, rows, above):
                    members[name] = below
            row = {"members": members, "required": sorted(shape.required_members)}
        case "list":
            row = {"item": _add(service, shape.member, rows, above), **_bounds(shape)}
        case "map":
            key, value = _add(service, shape.key, rows, above), _add(service, shape.value, rows, above)
            row = {"key": key, "item": value, **_bounds(shape)}
        case "string":
            allowed = [*shape.enum, *documented.accepted(service, shape.name)]
            row = {"enum": allowed, "pattern": go(shape.metadata.get("pattern", "")), **_bounds(shape)}
        case "integer" | "long" | "float" | "double":
            row = _bounds(shape)
    row = {key: value for key, value in row.items() if value not in ("", [], {}, None)}
    if not row:
        return ""
    rows[shape.name] = row
    return str(shape.name)


def _member(service: str, owner: str, name: str, member: Any, rows: Rows, above: list[str]) -> str:
    below = _add(service, member, rows, above)
    limit = documented.limit(service, owner, name)
    if limit is None or member.type_name != "string":
        return below
    key = f"{limit.shape}.{name}"
    row = {"min": limit.minimum, "max": limit.maximum, "pattern": go(limit.pattern)}
    rows[key] = rows.get(below, {}) | {k: v for k, v in row.items() if v not in ("", None)}
    return key


def _bounds(shape: Any) -> dict[str, Any]:
    return {key: shape.metadata[key] for key in ("min", "max") if key in shape.metadata}


def go(pattern: str) -> str:
    """Write a pattern of Java for Go."""
    text = models.BEYOND_BMP.sub(lambda _: r"\x{10000}-\x{10FFFF}", pattern)
    text = models.HYPHEN.sub(r"\1\\-", text)
    return _UNIT.sub(r"\\x{\1}", text)


if __name__ == "__main__":
    main()
