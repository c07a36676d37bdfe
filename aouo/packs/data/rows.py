"""Converts rows of a pack's tables between a model's JSON and SQLite, both ways."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from aouo.facts.errors import ToolFailed
from aouo.packs.data.columns import Column
from aouo.packs.data.schema_guard import quoted
from aouo.packs.format.problems import did_you_mean

Cell: TypeAlias = "str | int | float | bytes | None"
Answer: TypeAlias = dict[str, object]

_CELL_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class Table:
    """One table of the pack and how its columns are really written."""

    name: str
    columns: tuple[Column, ...]

    def column(self, name: str) -> str:
        """Return a column as SQL.

        Raises:
            ToolFailed: there is none of that name.
        """
        for column in self.columns:
            if column.name.lower() == name.lower():
                return quoted(column.name)
        names = [column.name for column in self.columns]
        raise ToolFailed(f"The table {self.name} has no column {name!r}{near(name, names)} {self}")

    def has(self, name: str) -> bool:
        return any(column.name.lower() == name for column in self.columns)

    def __str__(self) -> str:
        return f"Columns of {self.name}: {', '.join(described(item) for item in self.columns)}."


def near(word: str, known: Iterable[str]) -> str:
    """End a sentence about a word that is wrong, with the nearest right one if there is one."""
    return did_you_mean(word, known) or "."


def described(column: Column) -> str:
    needed = column.required and column.default is None and not column.key
    return f"{column.name} {column.type}{' (required)' if needed else ''}".strip()


def from_json(text: str, argument: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ToolFailed(
            f'{argument} is an object such as {{"column": "value"}}, and this is no JSON: '
            f"{text[:80]!r}."
        ) from error


def as_object(given: object, argument: str) -> dict[str, object]:
    value = from_json(given, argument) if isinstance(given, str) else given
    if not isinstance(value, Mapping):
        raise ToolFailed(
            f'{argument} is an object such as {{"column": "value"}}, not {value!r:.80}.'
        )
    return {str(key): item for key, item in cast("Mapping[object, object]", value).items()}


def cell(name: str, value: object) -> Cell:
    """Return a value as a column holds it; lists and objects become JSON text."""
    match value:
        case None | str():
            return value
        case bool():
            return int(value)
        case int():
            return value
        case float() if math.isfinite(value):
            return value
        case list() | dict():
            return json.dumps(value, ensure_ascii=False)
        case _:
            raise ToolFailed(f"{name}: {value!r:.80} cannot be stored.")


def shown(value: object) -> object:
    """Return a stored value as JSON can carry it, long ones cut."""
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str) and len(value) > _CELL_CHARS:
        return f"{value[:_CELL_CHARS]}… ({len(value):,} characters)"
    return value
