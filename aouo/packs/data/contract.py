"""Checks a row before it is written: it follows the manifest's contract, and times are times."""

from __future__ import annotations

import re
from collections.abc import Mapping

from aouo.facts.errors import ToolFailed
from aouo.packs.data.columns import Column
from aouo.packs.data.rows import Table, as_object, near
from aouo.packs.format.manifest import PersistContract

_TIME_TYPES = frozenset({"DATE", "DATETIME", "TIMESTAMP"})
_TIME_DEFAULT = re.compile(
    r"\(?\s*(date|datetime|strftime|current_(date|timestamp))\b", re.IGNORECASE
)
_CLOCK = r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?"
_DAY = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
_TIME = re.compile(rf"{_DAY}([ T]{_CLOCK})?|{_CLOCK}")


def check_fields(contract: PersistContract, table: Table, row: Mapping[str, object]) -> None:
    """Hold names to the columns, and say which fields the pack means where it lists them.

    Raises:
        ToolFailed: a field that is no column.
    """
    fields = (*contract.required_fields, *contract.optional_fields)
    if not contract.required_fields or not contract.optional_fields:
        return  # `Table.column` refuses the name, with the columns there are
    wrong = [name for name in row if not table.has(name.lower())]
    if promised := [name for name in wrong if name in contract.optional_fields]:
        lacks = f"{table.name} has no column {', '.join(promised)}, though the pack names it"
        raise ToolFailed(f"{lacks}: leave it out of data. {table}")
    if wrong:
        end = near(wrong[0], [*fields, *(item.name for item in table.columns)])
        raise ToolFailed(
            f"{', '.join(wrong)} is no field of this pack{end} Fields: {', '.join(fields)}. {table}"
        )


def check_contract(
    contract: PersistContract, table: Table, row: Mapping[str, object], *, complete: bool
) -> None:
    """Hold a row to the manifest's contract, as far as the table has such columns.

    Raises:
        ToolFailed: says what is missing, or what a field may hold.
    """
    there = {name.lower(): value for name, value in row.items()}
    needed = [name for name in contract.required_fields if table.has(name.lower())]
    asked = needed if complete else [name for name in needed if name.lower() in there]
    missing = [name for name in asked if there.get(name.lower()) is None]
    if missing:
        raise ToolFailed(f"data lacks {', '.join(missing)}, required by the pack. {table}")
    kind, prefix = there.get("skill_type"), contract.skill_type_prefix
    if isinstance(kind, str) and not kind.startswith(prefix):
        raise ToolFailed(f'skill_type has to begin with "{prefix}", not be {kind!r}.')
    scores = there.get("subcap_scores")
    if contract.subcap_keys and scores is not None:
        given = as_object(scores, "subcap_scores")
        wrong = [key for key in given if key not in contract.subcap_keys]
        if wrong:
            known = ", ".join(contract.subcap_keys)
            raise ToolFailed(f"subcap_scores may hold {known}; not {', '.join(wrong)}.")


def check_times(table: Table, row: Mapping[str, object], now: str) -> None:
    """Keep words such as "tomorrow" out of columns that SQLite's date functions will read.

    Raises:
        ToolFailed: says how a time is written.
    """
    for column in table.columns:
        value = next((row[name] for name in row if name.lower() == column.name.lower()), None)
        if isinstance(value, str) and value and is_time(column) and not _TIME.fullmatch(value):
            raise ToolFailed(
                f"{column.name} is a date such as {now[:10]} or a time such as {now[:19]}Z, "
                f"not {value[:80]!r}."
            )


def is_time(column: Column) -> bool:
    """Whether a column holds times: by its type, by its default, or as `…_at`."""
    return (
        column.type.upper() in _TIME_TYPES
        or bool(column.default and _TIME_DEFAULT.match(column.default))
        or column.name.lower().endswith("_at")
    )
