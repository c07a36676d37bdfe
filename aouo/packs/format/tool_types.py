"""Turns annotations and docstrings of Python tools into the schema of what a model sends."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

_ARGS = re.compile(r"\s*(Args|Arguments|Parameters):\s*$")
_SECTION = re.compile(r"\s*(Returns|Raises|Yields|Examples?|Notes?):\s*$")
_ARG = re.compile(r"(\*{0,2}\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
MAX_DESCRIPTION_CHARS = 1000
READS = "Reads only."


def docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return the first paragraph of a docstring, and what it says of the arguments by name."""
    first = text.replace(READS, "").strip().partition("\n\n")[0]
    lines = [line for line in first.splitlines() if not _ARGS.match(line)]
    description = " ".join(" ".join(lines).split())[:MAX_DESCRIPTION_CHARS]
    return description, _arguments(text)


def _arguments(text: str) -> dict[str, str]:
    """The section `Args:`; a deeper line goes on with what stands above it."""
    found: dict[str, str] = {}
    inside, name, depth = False, "", 0
    for line in text.splitlines():
        if _ARGS.match(line):
            inside, name = True, ""
        elif inside and (_SECTION.match(line) or (line.strip() and not line.startswith(" "))):
            inside = False
        elif inside and line.strip():
            indent = len(line) - len(line.lstrip())
            if (match := _ARG.match(line.strip())) and (not name or indent <= depth):
                name, depth = match[1], indent
                found[name] = match[2].strip()
            elif name:
                found[name] = f"{found[name]} {line.strip()}".strip()
    return {name: said[:300] for name, said in found.items() if said}


_Schema = dict[str, Any]
_PLAIN: Mapping[str, str] = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
}
_SAME = {"List": "list", "Dict": "dict", "Sequence": "list", "Mapping": "dict"}
_SUPPORTED = (
    "use str, int, float, bool, list[...], dict[str, ...], Literal[...], a TypedDict of this file, "
    "or one of these with | None"
)
_MAX_DEPTH = 20
_KINDS = frozenset({*_PLAIN.values(), "null"})


def schema_of(node: ast.expr, records: Mapping[str, ast.ClassDef], depth: int = 0) -> _Schema:
    """The schema of one annotation; `records` are the TypedDicts of the file by name.

    Raises:
        ValueError: no schema can be made of it; says which annotations there are.
    """
    if depth > 8:
        raise ValueError("is nested too deep")
    match node:
        case ast.Constant(value=str() as text):
            return schema_of(_parsed(text), records, depth + 1)
        case ast.Constant(value=None):
            return {"type": "null"}
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return _either([left, right], records, depth)
        case ast.Name() | ast.Attribute():
            return _named(_name(node), records, depth)
        case ast.Subscript(value=value, slice=inner):
            return _of(_name(value), inner, records, depth)
        case _:
            raise _unknown(node)


def _named(name: str, records: Mapping[str, ast.ClassDef], depth: int) -> _Schema:
    name = _SAME.get(name, name)
    if name in _PLAIN:
        return {"type": _PLAIN[name]}
    if name == "Any":
        return {}
    if name in records:
        return _record(records[name], records, depth)
    raise ValueError(f"{name} is no type of an argument; {_SUPPORTED}")


def _of(name: str, inner: ast.expr, records: Mapping[str, ast.ClassDef], depth: int) -> _Schema:
    match _SAME.get(name, name):
        case "list":
            return {"type": "array", "items": schema_of(inner, records, depth + 1)}
        case "dict":
            key, value = (
                inner.elts
                if isinstance(inner, ast.Tuple) and len(inner.elts) == 2
                else ((None, None))
            )
            if key is None or value is None or _name(key) != "str":
                raise ValueError("a dict of an argument is dict[str, ...]")
            values = schema_of(value, records, depth + 1)
            return {"type": "object", **({"additionalProperties": values} if values else {})}
        case "Literal":
            return _literal(inner.elts if isinstance(inner, ast.Tuple) else [inner])
        case "Optional":
            return _either([inner, ast.Constant(value=None)], records, depth)
        case "Annotated" | "NotRequired" | "Required":
            first = inner.elts[0] if isinstance(inner, ast.Tuple) and inner.elts else inner
            return schema_of(first, records, depth + 1)
        case "Union":
            return _either(inner.elts if isinstance(inner, ast.Tuple) else [inner], records, depth)
        case _:
            raise ValueError(f"{name}[...] is no type of an argument; {_SUPPORTED}")


def _either(options: list[ast.expr], records: Mapping[str, ast.ClassDef], depth: int) -> _Schema:
    """`X | None` is X that may be left out or null; other unions are left to the tool."""
    found = [schema_of(option, records, depth + 1) for option in options]
    kinds = [one for one in found if one != {"type": "null"}]
    if len(kinds) != 1:
        raise ValueError(f"a union of types; {_SUPPORTED}")
    only = kinds[0]
    if len(kinds) == len(found) or not isinstance(only.get("type"), str):
        return only
    widened: _Schema = {**only, "type": [only["type"], "null"]}
    if "enum" in only:
        widened["enum"] = [*only["enum"], None]
    return widened


def _literal(values: list[ast.expr]) -> _Schema:
    found = [value.value for value in values if isinstance(value, ast.Constant)]
    if len(found) != len(values) or not all(isinstance(v, str | int | bool) for v in found):
        raise ValueError("Literal takes words and whole numbers")
    kinds = {"boolean" if v is True or v is False else _PLAIN[type(v).__name__] for v in found}
    if len(kinds) != 1:
        raise ValueError("the values of a Literal are all of one type")
    return {"type": kinds.pop(), "enum": found}


def _record(made: ast.ClassDef, records: Mapping[str, ast.ClassDef], depth: int) -> _Schema:
    """A TypedDict: all keys are required unless `total=False` or NotRequired says otherwise."""
    partial = any(
        word.arg == "total" and isinstance(word.value, ast.Constant) and word.value.value is False
        for word in made.keywords
    )
    properties: _Schema = {}
    required: list[str] = []
    for line in made.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            properties[line.target.id] = schema_of(line.annotation, records, depth + 1)
            if not partial and "NotRequired" not in ast.dump(line.annotation):
                required.append(line.target.id)
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def plain(node: ast.expr) -> str | int | float | bool | None:
    """A default that can be told in few words; None = it cannot, or is None."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    is_short = isinstance(value, str | int | float) and len(str(value)) <= 60
    return value if is_short else None


def is_typed_dict(base: ast.expr) -> bool:
    """Whether a class with this base describes an object's keys."""
    return getattr(base, "id", getattr(base, "attr", "")) == "TypedDict"


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return name
        case _:
            raise _unknown(node)


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text[:40]!r} is no type") from error


def _unknown(node: ast.expr) -> ValueError:
    return ValueError(f"{ast.unparse(node)[:60]} is no type of an argument; {_SUPPORTED}")


def is_sound(schema: object, depth: int = 0) -> bool:
    """Whether every model's service accepts a schema that somebody wrote."""
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return isinstance(schema, bool)
    fields = cast("Mapping[str, object]", schema)
    return all(_holds(key, value, depth + 1) for key, value in fields.items())


def _holds(key: str, value: object, depth: int) -> bool:
    match key:
        case "type":
            kinds = cast("list[object]", value) if isinstance(value, list) else [value]
            return bool(kinds) and all(isinstance(k, str) and k in _KINDS for k in kinds)
        case "required":
            return _is_list(value, lambda item: isinstance(item, str))
        case "enum":
            return isinstance(value, list)
        case "anyOf" | "oneOf" | "allOf" | "prefixItems":
            return bool(value) and _is_list(value, lambda item: is_sound(item, depth))
        case "items" | "additionalProperties" | "not":
            return is_sound(value, depth)
        case "properties" | "patternProperties" | "$defs" | "definitions":
            return isinstance(value, Mapping) and all(
                is_sound(item, depth) for item in cast("Mapping[str, object]", value).values()
            )
        case _:
            return True


def _is_list(value: object, holds: Callable[[object], bool]) -> bool:
    return isinstance(value, list) and all(map(holds, cast("list[object]", value)))
