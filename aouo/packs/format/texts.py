"""Reads untrusted YAML and JSON into plain values and their lines; no bombs, no key twice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias, cast

import yaml

PlainValue: TypeAlias = "str | int | float | bool | list[PlainValue] | dict[str, PlainValue] | None"
FieldPath: TypeAlias = tuple[str | int, ...]

_MAX_BYTES = 256 * 1024
_MAX_DEPTH = 32
_MAX_VALUES = 20_000  # after aliases are expanded
_TAGS = frozenset(
    f"tag:yaml.org,2002:{kind}"
    for kind in ("str", "int", "float", "bool", "null", "seq", "map", "timestamp", "merge", "value")
)
# The core schema of YAML 1.2, so that `yes`, `21:00` and `2026-01-01` stay text, as the
# packs written for the original expect. Source: yaml.org/spec/1.2.2, 10.3.2.
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INT = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


class TextRefused(Exception):
    """Text that is not what we take; `line` counts from 1, 0 is unknown."""

    def __init__(self, message: str, line: int = 0, field: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.field = field


def nearest_line(lines: Mapping[FieldPath, int], path: FieldPath) -> int:
    """Return the line of `path`, or of the nearest thing around it, or 0."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 0)


@dataclass(frozen=True, slots=True)
class YamlMapping:
    """A document whose top is a mapping, and the line of every key and list item in it.

    `faults` are keys written twice and tags, which `values` lacks; `lost` are the places of values
    that were not taken, and are None.
    """

    values: dict[str, PlainValue]
    lines: dict[FieldPath, int]
    faults: tuple[TextRefused, ...] = ()
    lost: frozenset[FieldPath] = frozenset()

    def line_of(self, path: FieldPath) -> int:
        """See `nearest_line`."""
        return nearest_line(self.lines, path)


def field_name(path: FieldPath) -> str:
    """Write a path as people do: `cron_defaults[0].skill`."""
    name = ""
    for part in path:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    return name


def read_mapping(text: str, *, first_line: int = 1) -> YamlMapping:
    """Read one YAML document whose top is a mapping; an empty one is an empty mapping.

    `first_line` is where `text` begins in its file.

    Raises:
        TextRefused: not YAML, not a mapping, too large, or trying something clever.
    """
    if len(text.encode("utf-8", "replace")) > _MAX_BYTES:
        raise TextRefused(f"larger than {_MAX_BYTES // 1024} kB")
    try:
        node = _nodes(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + first_line if mark else 0
        raise TextRefused(f"not valid YAML: {error.problem or error.context}", line) from error
    except (yaml.YAMLError, ValueError) as error:
        raise TextRefused(f"not valid YAML: {str(error).splitlines()[0]}") from error
    if node is None:
        return YamlMapping({}, {})
    reader = _YamlParser(first_line)
    value = reader.value(node, ())
    if not isinstance(value, dict):
        raise (
            reader.faults[0]
            if reader.faults
            else TextRefused("must be a mapping of keys to values", reader.line(node))
        )
    return YamlMapping(value, reader.lines, tuple(reader.faults), frozenset(reader.lost))


@lru_cache(maxsize=32)
def _nodes(text: str) -> yaml.Node | None:
    """The tree of a document: the dearest part of reading a pack, and most stay as they are."""
    return _Loader(text).get_single_node()


class _Loader(yaml.SafeLoader):
    """Builds the node tree only, and stops at a depth no pack needs."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise yaml.YAMLError(f"nested deeper than {_MAX_DEPTH} levels")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


class _YamlParser:
    """Turns nodes into values, counting what aliases expand to."""

    def __init__(self, first_line: int) -> None:
        self.lines: dict[FieldPath, int] = {}
        self.faults: list[TextRefused] = []
        self.lost: list[FieldPath] = []
        self._first_line = first_line
        self._left = _MAX_VALUES

    def line(self, node: yaml.Node) -> int:
        return cast("int", node.start_mark.line) + self._first_line

    def value(self, node: yaml.Node, path: FieldPath) -> PlainValue:
        self._left -= 1
        if self._left < 0:
            raise TextRefused(f"more than {_MAX_VALUES} values", self.line(node))
        if len(path) > _MAX_DEPTH:
            raise TextRefused("an alias contains itself", self.line(node), field_name(path[:1]))
        if node.tag not in _TAGS:
            self._fault(node, f"the tag {node.tag} is not allowed here", path)
            self.lost.append(path)
            return None
        match node:
            case yaml.ScalarNode():
                text = self._text(node, path)
                return _plain(text) if node.style is None else text
            case yaml.SequenceNode():
                return self._sequence(node, path)
            case yaml.MappingNode():
                return self._mapping(node, path)
            case _:
                raise TextRefused("not a value", self.line(node), field_name(path))

    def _fault(self, node: yaml.Node, message: str, path: FieldPath) -> None:
        self.faults.append(TextRefused(message, self.line(node), field_name(path)))

    def _text(self, node: yaml.ScalarNode, path: FieldPath) -> str:
        """Return a scalar's text; `\\u` escapes may write a character in two halves."""
        try:
            return cast("str", node.value).encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError as error:
            raise TextRefused("half a character", self.line(node), field_name(path)) from error

    def _sequence(self, node: yaml.SequenceNode, path: FieldPath) -> list[PlainValue]:
        items: list[PlainValue] = []
        for index, item in enumerate(cast("list[yaml.Node]", node.value)):
            here = (*path, index)
            self.lines[here] = self.line(item)
            items.append(self.value(item, here))
        return items

    def _mapping(self, node: yaml.MappingNode, path: FieldPath) -> dict[str, PlainValue]:
        values: dict[str, PlainValue] = {}
        for key_node, value_node in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            if not isinstance(key_node, yaml.ScalarNode):
                raise TextRefused("a key must be text", self.line(key_node), field_name(path))
            key = self._text(key_node, path)
            here = (*path, key)
            if key in values:
                self._fault(key_node, "written twice; keep one", here)
                continue
            self.lines[here] = self.line(key_node)
            values[key] = self.value(value_node, here)
        return values


def _plain(text: str) -> PlainValue:
    if text in _NULL:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


_Tokens: TypeAlias = Iterator[tuple[str, int]]
"""Pieces of the text with their lines."""
_MAX_JSON_DEPTH = 16
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{},:]|[^\s\[\]{},:"]++')


def read_json(text: str) -> tuple[PlainValue, dict[FieldPath, int]]:
    """Read one JSON text; return its value, and the line of every key and list item in it.

    Raises:
        TextRefused: not JSON, a key twice, too deep, or too many values.
    """
    try:
        value = cast("PlainValue", json.loads(text, parse_constant=_no_constant))
        json.dumps(value, ensure_ascii=False).encode()  # `\u` can write half a character
    except json.JSONDecodeError as error:
        raise TextRefused(f"is not JSON: {error.msg}", error.lineno) from error
    except RecursionError as error:
        raise TextRefused(f"is nested deeper than {_MAX_JSON_DEPTH} levels") from error
    except ValueError as error:
        raise TextRefused(f"is not JSON: {str(error)[:100]}") from error
    return value, _lines(text)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no value")


def _lines(text: str) -> dict[FieldPath, int]:
    """Walk the tokens of text that is known to be JSON, for what its reader does not tell."""
    tokens, lines = _numbered(text), dict[FieldPath, int]()
    _value(tokens, lines, (), *next(tokens))
    return lines


def _numbered(text: str) -> _Tokens:
    line, seen = 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", seen, match.start())
        seen = match.start()
        yield match.group(), line


def _value(
    tokens: _Tokens, lines: dict[FieldPath, int], path: FieldPath, token: str, line: int
) -> None:
    lines.setdefault(path, line)
    if len(path) > _MAX_JSON_DEPTH:
        message = f"is nested deeper than {_MAX_JSON_DEPTH} levels"
        raise TextRefused(message, line, field_name(path[:2]))
    if len(lines) > _MAX_VALUES:
        raise TextRefused(f"holds more than {_MAX_VALUES} values", line)
    if token == "[":
        for index, (first, its_line) in enumerate(_items(tokens, "]")):
            _value(tokens, lines, (*path, index), first, its_line)
    elif token == "{":
        for key, its_line in _items(tokens, "}"):
            here = (*path, str(json.loads(key)))
            if here in lines:
                raise TextRefused("written twice; keep one", its_line, field_name(here))
            lines[here] = its_line
            next(tokens)  # the colon
            _value(tokens, lines, here, *next(tokens))


def _items(tokens: _Tokens, end: str) -> _Tokens:
    """Yield the first token of each item; what follows it is read before the next."""
    for token, line in tokens:
        if token == end:
            return
        if token != ",":
            yield token, line
