"""Turns rows into values and values into columns by their names, so that no module maps them."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, LiteralString, TypeVar, cast

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_T = TypeVar("_T", bound="DataclassInstance")


def made(kind: type[_T], row: sqlite3.Row | Mapping[str, Any], **own: object) -> _T:
    """Make a dataclass value of the columns that are called as its fields, and `own` for others."""
    columns = {
        name: bool(row[name]) if is_bool else row[name]
        for name, is_bool in _fields(kind)
        if name not in own
    }
    return kind(**columns, **own)


def columns(value: DataclassInstance, *others: str) -> dict[LiteralString, Any]:
    """Return a value's fields by their names, but for the `others`: columns of a row to write."""
    return {
        cast("LiteralString", name): getattr(value, name)
        for name, _ in _fields(type(value))
        if name not in others
    }


@cache
def _fields(kind: type[DataclassInstance]) -> tuple[tuple[str, bool], ...]:
    """Return the name of each field and whether it is a bool, which SQLite keeps as a number."""
    return tuple((each.name, each.type == "bool") for each in fields(kind))
