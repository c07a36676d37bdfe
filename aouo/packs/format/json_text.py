"""Reads untrusted JSON into plain values and their lines; no key twice, nothing deep or endless."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import cast

from aouo.packs.format.yaml_text import FieldPath, PlainValue, TextRefused, field_name

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
    return value, _Lines(text).all()


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no value")


class _Lines:
    """Walks the tokens of text that is known to be JSON, for what its reader does not tell."""

    def __init__(self, text: str) -> None:
        self._tokens = self._numbered(text)
        self._lines: dict[FieldPath, int] = {}

    def all(self) -> dict[FieldPath, int]:
        self._value((), *next(self._tokens))
        return self._lines

    def _numbered(self, text: str) -> Iterator[tuple[str, int]]:
        line, seen = 1, 0
        for match in _TOKEN.finditer(text):
            line += text.count("\n", seen, match.start())
            seen = match.start()
            yield match.group(), line

    def _value(self, path: FieldPath, token: str, line: int) -> None:
        self._lines.setdefault(path, line)
        if len(path) > _MAX_DEPTH:
            message = f"is nested deeper than {_MAX_DEPTH} levels"
            raise TextRefused(message, line, field_name(path[:2]))
        if len(self._lines) > _MAX_VALUES:
            raise TextRefused(f"holds more than {_MAX_VALUES} values", line)
        if token == "[":
            self._list(path)
        elif token == "{":
            self._object(path)

    def _list(self, path: FieldPath) -> None:
        for index, (token, line) in enumerate(self._items("]")):
            self._value((*path, index), token, line)

    def _object(self, path: FieldPath) -> None:
        for token, line in self._items("}"):
            here = (*path, str(json.loads(token)))
            if here in self._lines:
                raise TextRefused("written twice; keep one", line, field_name(here))
            self._lines[here] = line
            next(self._tokens)  # the colon
            self._value(here, *next(self._tokens))

    def _items(self, end: str) -> Iterator[tuple[str, int]]:
        """Yield the first token of each item; what follows it is read before the next."""
        for token, line in self._tokens:
            if token == end:
                return
            if token != ",":
                yield token, line
