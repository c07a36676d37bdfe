"""Checks calls and objects against Telegram's own description of its Bot API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

JsonObject: TypeAlias = dict[str, Any]
_JsonArray: TypeAlias = list[Any]


def as_object(value: object) -> JsonObject | None:
    """Return `value` if it is a JSON object, else None."""
    return cast(JsonObject, value) if isinstance(value, dict) else None


def as_array(value: object) -> _JsonArray | None:
    """Return `value` if it is a JSON array, else None."""
    return cast(_JsonArray, value) if isinstance(value, list) else None


_Flaw: TypeAlias = Literal["unknown", "missing", "type"]

_CONSTANT = re.compile(r"(?:always|must be) [“\"*]?(\w+)[”\"*]?$")
_ARRAY = "Array of "
_SCALARS = {"Integer", "Float", "String", "Boolean", "InputFile"}


@dataclass(frozen=True, slots=True)
class Problem:
    """One way in which a value differs from the description."""

    flaw: _Flaw
    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter of a method or a field of a type; `constant` is the only value it may have."""

    name: str
    types: tuple[str, ...]
    required: bool
    text: str
    constant: str | None


@dataclass(frozen=True, slots=True)
class Described:
    """A type with its fields or its subtypes, or a method: then `types` are those of its result."""

    name: str
    fields: Mapping[str, Field]
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that came in a multipart body."""

    name: str
    mime: str
    content: bytes


@cache
def api_methods() -> Mapping[str, Described]:
    """Return all methods of the Bot API by their names in lower case, read once."""
    return {one.name.lower(): one for one in _described("methods", "returns")}


@cache
def api_types() -> Mapping[str, Described]:
    """Return all types of the Bot API by their names, read once."""
    return {one.name: one for one in _described("types", "subtypes")}


def _described(part: str, types: str) -> Iterator[Described]:
    """Yield a part of the description beside this file, with newer additions."""
    known, newer = (_read(name)[part] for name in ("api.json", "api_newer.json"))
    for name, item in newer.items():
        fields = [*known.get(name, {}).get("fields", []), *item["fields"]]
        known[name] = item | known.get(name, {}) | {"fields": fields}
    for name, item in known.items():
        yield Described(name, _fields(item), tuple(item.get(types, ())))


def _read(name: str) -> JsonObject:
    return json.loads(Path(__file__).with_name(name).read_bytes())


def read_call(method: Described, params: Mapping[str, Any]) -> tuple[JsonObject, list[Problem]]:
    """Return the typed values and the problems of a call; an empty text is an absent value."""
    values: JsonObject = {}
    problems: list[Problem] = []
    for name, raw in params.items():
        field = method.fields.get(name)
        if raw is None or raw == "":
            continue
        if field is None:
            problems.append(Problem("unknown", name, f"{method.name} has no such parameter"))
            continue
        value = _decode(field.types, raw)
        found = check(field.types, value, name)
        problems += found
        if all(one.flaw == "unknown" for one in found):
            values[name] = value
    given = {name for name, raw in params.items() if raw is not None and raw != ""}
    problems += [
        Problem("missing", field.name, f"{method.name} requires it")
        for field in method.fields.values()
        if field.required and field.name not in given
    ]
    return values, problems


def check(types: Iterable[str], value: object, path: str) -> list[Problem]:
    """Return the problems of `value` as the best fitting of `types`."""
    names = tuple(types)
    inner = tuple(name.removeprefix(_ARRAY) for name in names if name.startswith(_ARRAY))
    if len(inner) > 1:  # several kinds of arrays mean one whose items are of any of these kinds
        return _check_items(inner, value, path)
    return min((_check_one(name, value, path) for name in names), key=len)


def _fields(item: JsonObject) -> dict[str, Field]:
    raw_fields: list[JsonObject] = item.get("fields", [])
    fields: dict[str, Field] = {}
    for raw in raw_fields:
        constant = _CONSTANT.search(raw["description"])
        fields[raw["name"]] = Field(
            name=raw["name"],
            types=tuple(raw["types"]),
            required=raw["required"],
            text=raw["description"],
            constant=constant[1] if constant else None,
        )
    return fields


def _decode(types: tuple[str, ...], raw: object) -> object:
    """Return the typed value of a form's text; an unreadable one stays as it is."""
    if "String" in types and isinstance(raw, int | float) and not isinstance(raw, bool):
        return raw if "Integer" in types else str(raw)
    if "Boolean" in types and isinstance(raw, int) and raw in (0, 1):
        return bool(raw)
    if not isinstance(raw, str):
        return raw
    if "Integer" in types and re.fullmatch(r"[+-]?\d+", raw.strip()):
        return int(raw)
    if "String" in types:
        return raw
    if "Boolean" in types and raw.lower() in ("true", "yes", "1", "false", "no", "0"):
        return raw.lower() in ("true", "yes", "1")
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw


def _check_one(name: str, value: object, path: str) -> list[Problem]:
    if name.startswith(_ARRAY):
        return _check_items((name.removeprefix(_ARRAY),), value, path)
    if name in _SCALARS:
        return [] if _is_scalar(name, value) else [Problem("type", path, f"{name} is expected")]
    kind = api_types()[name]
    if kind.types:
        return check(_named_by(value, kind.types), value, path)
    return _check_fields(kind, value, path)


def _check_items(inner: tuple[str, ...], value: object, path: str) -> list[Problem]:
    items = as_array(value)
    if items is None:
        return [Problem("type", path, "an array is expected")]
    return [
        problem
        for index, item in enumerate(items)
        for problem in check(
            _named_by(item, inner) if len(inner) > 1 else inner, item, f"{path}[{index}]"
        )
    ]


def _named_by(value: object, subtypes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the subtypes whose constant fields `value` has (`type`, `status`), else all."""
    given = as_object(value) or {}
    named = [
        name
        for name in subtypes
        if (kind := api_types().get(name))  # a scalar or an array has no name
        and (constants := _constants(kind))
        and all(given.get(field) == constant for field, constant in constants.items())
    ]
    return tuple(named) or subtypes


def _constants(kind: Described) -> dict[str, str]:
    return {field.name: field.constant for field in kind.fields.values() if field.constant}


def _check_fields(kind: Described, value: object, path: str) -> list[Problem]:
    given = as_object(value)
    if given is None:
        return [Problem("type", path, f"{kind.name} is expected")]
    problems: list[Problem] = []
    for name, item in given.items():
        field = kind.fields.get(name)
        where = f"{path}.{name}"
        if field is None:
            problems.append(Problem("unknown", where, f"{kind.name} has no such field"))
        elif field.constant is not None and isinstance(item, str) and item != field.constant:
            problems.append(Problem("type", where, f"{kind.name} has {field.constant!r} here"))
        else:
            problems += check(field.types, item, where)
    problems += [
        Problem("missing", f"{path}.{field.name}", f"{kind.name} requires it")
        for field in kind.fields.values()
        if field.required and field.name not in given
    ]
    return problems


def _is_scalar(name: str, value: object) -> bool:
    match name:
        case "Integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "Float":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "String":
            return isinstance(value, str)
        case "Boolean":
            return isinstance(value, bool)
        case _:
            return isinstance(value, Upload)
