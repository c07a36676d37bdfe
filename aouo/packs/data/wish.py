"""Checks a call of `persist`, and makes its conditions SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from aouo.facts.errors import ToolFailed
from aouo.packs.data.reading import Bindings
from aouo.packs.data.rows import Cell, Column, Table, as_object, cell, from_json, near
from aouo.packs.format.manifest import Manifest
from aouo.packs.format.problems import did_you_mean

_OPERATORS = frozenset({"=", "!=", "<", "<=", ">", ">=", "like"})


def conditions(table: Table, where: Mapping[str, object]) -> tuple[str, tuple[Cell, ...]]:
    """Write `where` as SQL.

    Raises:
        ToolFailed: a column or an operator that there is not.
    """
    parts: list[str] = []
    values: list[Cell] = []
    for name, wanted in where.items():
        column = table.column(name)
        if isinstance(wanted, Mapping):
            if not wanted:  # no condition would mean every row
                raise ToolFailed(f"where.{name} is empty: give a value, or null for none.")
            for operator, value in cast("Mapping[str, object]", wanted).items():
                if operator.lower() not in _OPERATORS:
                    known = " ".join(sorted(_OPERATORS))
                    raise ToolFailed(f"where.{name}: {operator!r} is not one of {known}.")
                parts.append(f"{column} {operator} ?")
                values.append(cell(name, value))
        elif isinstance(wanted, list):
            items = cast("list[object]", wanted)
            parts.append(f"{column} IN ({', '.join('?' for _ in items)})")
            values += [cell(name, item) for item in items]
        else:
            parts.append(f"{column} IS ?")
            values.append(cell(name, wanted))
    return " AND ".join(parts), tuple(values)


MAX_ROWS = 50
_CONTROL = frozenset({"action", "table", "data", "where", "sql", "params", "limit", "db"})


class Wish:
    """What one call asks for, held against the tables that there are.

    `writable` are the tables the pack owns; `readable` those and the ones it shares.
    """

    def __init__(
        self,
        arguments: Mapping[str, object],
        manifest: Manifest,
        made: Mapping[str, tuple[Column, ...]],
    ) -> None:
        self._arguments = arguments
        schema = manifest.schema
        self._owned = schema.owned_tables
        self.writable = _chosen(made, schema.owned_tables)
        self.readable = (
            _chosen(made, (*schema.owned_tables, *schema.shared_tables))
            if schema.owned_tables
            else self.writable
        )
        self.hidden = tuple(name for name in made if name not in self.readable)

    def table(self, *, write: bool) -> Table:
        """Raises: ToolFailed: there is no such table, or it is not to be written."""
        usable = self.writable if write else self.readable
        if not usable:
            raise ToolFailed("This pack keeps no tables; use the memory tool instead.")
        default = self._owned[0] if self._owned else next(iter(usable))
        wanted = str(self._arguments.get("table") or default)
        for name, found in usable.items():
            if name.lower() == wanted.lower():
                return Table(name, found)
        there = f"Tables: {', '.join(usable)}."
        if wanted.lower() in {name.lower() for name in self.readable}:
            raise ToolFailed(f"The table {wanted} can be read here, not written. {there}")
        raise ToolFailed(f"There is no table {wanted!r}{near(wanted, usable)} {there}")

    @property
    def names_a_table(self) -> bool:
        return bool(self._arguments.get("table"))

    def text(self, argument: str) -> str:
        """A text argument without blanks around it, "" where there is none."""
        given = self._arguments.get(argument)
        return given.strip() if isinstance(given, str) else ""

    def row(self) -> tuple[Table, dict[str, object]]:
        """The table to write to, and what `data` says of it."""
        table = self.table(write=True)
        return table, self.data(table)

    def data(self, table: Table) -> dict[str, object]:
        """The row; what is no argument of ours is a column, as skills of the original write it.

        Raises: ToolFailed: a column has two values, or a misspelt argument of ours is none.
        """
        free = {name: value for name, value in self._arguments.items() if name not in _CONTROL}
        for name in free:
            columns = (column.name for column in table.columns)
            hint = did_you_mean(name, (*_CONTROL, *columns)) if not table.has(name.lower()) else ""
            if any(f'"{ours}"' in hint for ours in _CONTROL):
                raise ToolFailed(f"persist has no argument {name!r}{hint} {table}")
        row, written = dict[str, object](), dict[str, str]()
        for name, value in (*free.items(), *self.mapping("data").items()):
            known = written.setdefault(name.lower(), name)  # SQLite takes either case
            if known in row and row[known] != value:
                raise ToolFailed(f"{known} is given twice, and differs: say it once, in data.")
            row[known] = value
        return row

    def leave_no_column_out(self, table: Table, unused: Iterable[str]) -> None:
        """Raises: ToolFailed: an argument that this action does not use is meant as a column."""
        for name in unused:
            if name in self._arguments and table.has(name):
                meant = f'write data={{"{name}": …}}'
                raise ToolFailed(f"{name} is an argument of persist; for the column {meant}.")

    def mapping(self, argument: str) -> dict[str, object]:
        given = self._arguments.get(argument)
        return {} if given is None or given == "" else as_object(given, argument)

    def needed_where(self, action: str) -> dict[str, object]:
        where = self.mapping("where")
        if not where:
            raise ToolFailed(f'{action} needs where, such as {{"id": 3}}: which rows to {action}.')
        return where

    def params(self) -> Bindings:
        return bindings(self._arguments.get("params"))

    def limit(self, default: int) -> int:
        given = self._arguments.get("limit")
        if given in (None, ""):
            return default
        try:
            wanted = int(cast("str", given))
        except (TypeError, ValueError, OverflowError):
            wanted = 0
        if wanted < 1:
            raise ToolFailed(f"limit is a number from 1 to {MAX_ROWS}, not {given!r}.")
        return min(MAX_ROWS, wanted)


def bindings(given: object) -> Bindings:
    """Return the values for a statement's `?` or `:name`, from a list, an object or their JSON."""
    if isinstance(given, str) and given:
        given = from_json(given, "params")
    if isinstance(given, list | tuple):
        return tuple(cell("params", item) for item in cast("Iterable[object]", given))
    if isinstance(given, Mapping):
        named = cast("Mapping[str, object]", given)
        return {name.lstrip(":@$"): cell(name, value) for name, value in named.items()}
    if given in (None, ""):
        return ()
    return (cell("params", given),)


def _chosen(
    made: Mapping[str, tuple[Column, ...]], names: tuple[str, ...]
) -> dict[str, tuple[Column, ...]]:
    """The tables of these names; all of them where none is named."""
    chosen = {name.lower() for name in names}
    return {name: found for name, found in made.items() if not chosen or name.lower() in chosen}
