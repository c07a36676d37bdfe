"""Runs a pack's evals in a process of their own, with rows put in before and counted."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from aouo.facts.errors import PackError, ToolFailed
from aouo.packs.data.opening import open_database
from aouo.packs.data.rows import Table, cell, shown, tables
from aouo.packs.data.schema_guard import Guard, TookTooLong, quoted
from aouo.packs.evals.cases import Row
from aouo.packs.evals.checks import EvalResult, from_json
from aouo.packs.format.problems import did_you_mean
from aouo.plumbing import children

_LIMIT_S = 600.0
_NICE = 10
_SANDBOX = "AOUO_SECURITY__SANDBOX"
"""The only setting of our environment that scripted evals are given."""


async def run_evals(
    folder: Path,
    *,
    pack: str = "",
    files: Sequence[str] = (),
    real: bool = False,
    home: Path | None = None,
    limit_s: float = _LIMIT_S,
) -> tuple[EvalResult, ...]:
    """Run the evals of the pack in `folder`, or those in `files`; () = it has none. `pack` is its
    name if the folder has another one.

    The process reads the settings of `home` and gives `security.sandbox` to the evals; it gets
    our whole environment only if `real`, without secrets otherwise. It leaves the processor to
    whoever else needs it. A cancellation ends it.

    Raises:
        PackError: the pack is not sound, or the evals did not end within `limit_s`.
    """
    name = pack or folder.name
    command = [sys.executable, "-m", "aouo"]
    command += ["--home", str(home)] if home else []
    command += ["pack", "test", "--json", *(["--real"] if real else [])]
    command += ["--", str(folder), *files]
    process = await children.spawn(
        *command,
        env=dict(os.environ) if real else _without_secrets(os.environ),
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    with suppress(OSError):  # it has ended already
        os.setpriority(os.PRIO_PROCESS, process.pid, _NICE)
    try:
        async with asyncio.timeout(limit_s):
            said, complaint = await process.communicate()
    except TimeoutError:
        raise PackError(f"The evals of {name} did not end within {limit_s:g} s.") from None
    finally:
        await children.end(process)
    return _results(name, said, complaint)


def _results(name: str, said: bytes, complaint: bytes) -> tuple[EvalResult, ...]:
    try:
        facts = cast("dict[str, Any]", json.loads(said))
        results = from_json(facts["evals"])
        problems = [f"{each['file']}: {each['message']}" for each in facts["problems"]]
    except (ValueError, KeyError, TypeError) as error:
        why = complaint.decode("utf-8", "replace").strip()[-500:] or "it said nothing"
        raise PackError(f"The evals of {name} could not be run: {why}") from error
    if problems:
        raise PackError(f"{name} is not sound: {'; '.join(problems)}.")
    return results


def _without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    told = {_SANDBOX: environ[_SANDBOX]} if _SANDBOX in environ else {}
    return children.clean_environment(environ) | told


_SHOWN = 5


def put_rows(file: Path, start: Mapping[str, Sequence[Row]], now: str) -> None:
    """Add rows to the database at `file`, whose schema stands; all of them or none.

    `now` is what `created_at` and `updated_at` hold where a table needs them, as in `persist`.

    Raises:
        PackError: no such table or column, or a value it does not take.
    """
    with contextlib.closing(open_database(str(file))) as connection:
        guard = Guard(connection)
        connection.execute("BEGIN IMMEDIATE")
        for name, rows in start.items():
            table = _table(connection, name)
            for row in rows:
                try:
                    with guard.allow("write"):
                        _insert(connection, table, _filled(table, row, now))
                except TookTooLong as error:
                    raise PackError(f"start.{name}: a trigger ran too long. {table}") from error
                except sqlite3.Error as error:
                    why = guard.refusal or error
                    raise PackError(f"start.{name}: {why}. {table}") from error
        connection.execute("COMMIT")


def count_rows(file: Path, name: str, where: Row) -> int:
    """How many rows of the database at `file` have these values.

    Raises:
        PackError: no such table or column.
    """
    with contextlib.closing(open_database(str(file))) as connection:
        table = _table(connection, name)
        clause = " AND ".join(f"{_column(table, column)} IS ?" for column in where) or "1"
        values = [cell(column, value) for column, value in where.items()]
        sql = f"SELECT count(*) FROM {quoted(table.name)} WHERE {clause}"
        return int(connection.execute(sql, values).fetchone()[0])


def newest_row(file: Path, name: str) -> tuple[dict[str, object], ...]:
    """The newest rows of a table, to show beside what was expected."""
    with contextlib.closing(open_database(str(file))) as connection:
        table = _table(connection, name)
        names = [column.name for column in table.columns]
        listed = ", ".join(map(quoted, names))
        rows = connection.execute(
            f"SELECT {listed} FROM {quoted(table.name)} ORDER BY rowid DESC LIMIT {_SHOWN}"
        ).fetchall()
        return tuple({k: shown(v) for k, v in zip(names, row, strict=True)} for row in rows)


def _filled(table: Table, row: Row, now: str) -> Row:
    named = {name.lower() for name in row}
    needed = {
        column.name: now
        for column in table.columns
        if column.name.lower() in ("created_at", "updated_at")
        and column.required
        and column.default is None
        and column.name.lower() not in named
    }
    return {**row, **needed}


def _insert(connection: sqlite3.Connection, table: Table, row: Row) -> None:
    listed = ", ".join(_column(table, column) for column in row)
    marks = ", ".join("?" for _ in row)
    into = f"{quoted(table.name)} ({listed}) VALUES ({marks})" if row else quoted(table.name)
    values = [cell(column, value) for column, value in row.items()]
    connection.execute(f"INSERT INTO {into}{'' if row else ' DEFAULT VALUES'}", values)


def _table(connection: sqlite3.Connection, name: str) -> Table:
    made = tables(connection)
    found = next((table for table in made if table.lower() == name.lower()), "")
    if not found:
        raise PackError(f"there is no table {name!r} in this pack{did_you_mean(name, made)}")
    return Table(found, made[found])


def _column(table: Table, name: str) -> str:
    try:
        return table.column(name)
    except ToolFailed as error:
        raise PackError(str(error)) from error
