"""Reads untrusted JSON into plain values and their lines; no key twice, nothing deep or endless."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TypeAlias, cast

from aouo.packs.format.yaml_text import FieldPath, PlainValue, TextRefused, field_name

_Tokens: TypeAlias = Iterator[tuple[str, int]]
"""Pieces of the text with their lines."""
_MAX_DEPTH = 16
_MAX_VALUES = 20_000
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
        raise TextRefused(f"is nested deeper than {_MAX_DEPTH} levels") from error
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
    if len(path) > _MAX_DEPTH:
        message = f"is nested deeper than {_MAX_DEPTH} levels"
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
