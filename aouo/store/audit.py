"""Stores and reports the audit of tool calls: how each was proposed, judged and ended.

What was off the record tells that there was something: its rows have no digest, and neither their
tool and call nor their pack and origin are told, searched or counted.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import LiteralString, NamedTuple

from aouo.facts.records import AuditEntry
from aouo.plumbing.control import Facts
from aouo.store.database import CHAIN, Tx, linked
from aouo.store.rows import columns, made
from aouo.store.snapshots import Query

_COLUMNS: LiteralString = (
    "at, stage, turn_id, call_id, action_id, tool, pack, origin, digest, reason, judge, sink, "
    "labels, tier"
)
"""The time, and the fields of `AuditEntry` in their order."""
_MARKS: LiteralString = "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"
_TERMINAL = frozenset({"EXECUTED", "FAILED", "BLOCKED"})


def append(tx: Tx, entry: AuditEntry, now: str) -> None:
    """Add a row, at most one for each stage of a call, and one terminal row in all.

    A call that is resumed after a crash passes the same stages again; its earlier rows stand.
    """
    values = columns(entry)
    tx.run(
        f"INSERT INTO audit ({_COLUMNS}, chain) SELECT {_MARKS}, {CHAIN}(coalesce((SELECT chain "
        f"FROM audit ORDER BY id DESC LIMIT 1), ''), {_MARKS}) WHERE NOT EXISTS "
        "(SELECT 1 FROM audit WHERE call_id = ? AND (stage = ? OR (? AND stage IN "
        "('EXECUTED', 'FAILED', 'BLOCKED'))))",
        *(now, *values.values()),
        *(now, *values.values()),
        entry.call_id,
        entry.stage,
        int(entry.stage in _TERMINAL),
    )


def close_of_turn(tx: Tx, turn_id: str, now: str) -> None:
    """Add a FAILED row for each call of an ended turn that has no terminal row yet.

    Such a call was stopped while it ran, or cut off by a crash and must not run again.
    """
    rows = tx.all(
        "SELECT * FROM audit AS proposed WHERE stage = 'PROPOSED' AND turn_id = ? AND NOT EXISTS "
        "(SELECT 1 FROM audit WHERE call_id = proposed.call_id "
        "AND stage IN ('EXECUTED', 'FAILED', 'BLOCKED')) ORDER BY id",
        turn_id,
    )
    for row in rows:
        reason = "its turn ended before it did"
        append(tx, replace(made(AuditEntry, row), stage="FAILED", reason=reason), now)


def of_call(call_id: str) -> Query[list[Facts]]:
    """Find the rows of one call, the oldest first."""
    return Query(
        f"SELECT {_COLUMNS} FROM audit WHERE call_id = ? AND digest <> '' ORDER BY id",
        (call_id,),
        lambda rows: [dict(row) for row in rows],
    )


class Head(NamedTuple):
    """The newest row of the audit, and its link of the chain."""

    id: int
    chain: str


def head(tx: Tx) -> Head:
    """Return the head, 0 and "" = there is no row."""
    row = tx.one("SELECT id, chain FROM audit ORDER BY id DESC LIMIT 1")
    return Head(row["id"], row["chain"]) if row else Head(0, "")


def everything(tx: Tx, after: int = 0) -> Iterator[Facts]:
    """Yield all rows after one, the oldest first."""
    for row in tx.each("SELECT * FROM audit WHERE id > ? ORDER BY id", after):
        yield dict(row)


def broken(tx: Tx, heads: Mapping[int, str]) -> tuple[int, int, Head]:
    """Look through the whole chain; return the first row that does not fit, 0 = all do, the highest
    of the `heads` that were noted elsewhere and are not there so any more, and the head."""
    before, wrong, number, found = "", 0, 0, dict[int, str]()
    for number, link, *values in tx.each(f"SELECT id, chain, {_COLUMNS} FROM audit ORDER BY id"):
        before = linked(before, *values)
        if before != link and not wrong:
            wrong = number
        before = link
        if number in heads:
            found[number] = link
    gone = [one for one, link in heads.items() if found.get(one) != link]
    return wrong, max(gone, default=0), Head(number, before)


_LOOKED_THROUGH = 250_000
"""Ids that one page looks through at most: some 100 ms for a search that finds nothing."""
_ID_CHARS = 26
"""Of a turn's id."""
_USES_MAX = 1_000
_REFUSALS_MAX = 200
_ROWS: LiteralString = (
    "SELECT id, at, stage, turn_id, digest = '' AS off_record, "
    "CASE digest WHEN '' THEN '' ELSE origin END AS origin, "
    "CASE digest WHEN '' THEN '' ELSE pack END AS pack, "
    "CASE digest WHEN '' THEN '' ELSE call_id END AS call_id, "
    "CASE digest WHEN '' THEN '' ELSE tool END AS tool, judge, sink, labels, tier, "
    "CASE digest WHEN '' THEN '' ELSE reason END AS reason FROM audit "
)
_SOUGHT: LiteralString = (
    "AND id < ? AND id >= ? AND at >= ? AND (? = '' OR at < ?) "
    "AND (? = '' OR (tool = ? AND digest <> '')) AND (? = '' OR (pack = ? AND digest <> '')) "
    "AND (? = '' OR stage = ?) AND (? = '' OR (origin = ? AND digest <> '')) "
    "AND (? = '' OR turn_id LIKE ? ESCAPE '\\' "
    "OR (digest <> '' AND (pack LIKE ? ESCAPE '\\' OR tool LIKE ? ESCAPE '\\' "
    "OR reason LIKE ? ESCAPE '\\' "
    "OR call_id LIKE ? ESCAPE '\\'))) ORDER BY id DESC LIMIT ?"
)


@dataclass(frozen=True, slots=True)
class Use:
    """How often calls ended so, and when last; `stage` is EXECUTED | FAILED | BLOCKED."""

    pack: str
    tool: str
    stage: str
    times: int
    last: str


def ids() -> Query[tuple[int, int]]:
    """(lowest, highest) id, 0 = there is no row."""
    return Query(
        "SELECT (SELECT min(id) FROM audit) AS low, (SELECT max(id) FROM audit) AS high", (), _ends
    )


def reaches(turn: str, before: int) -> int:
    """The lowest id that a page of rows looks through; a whole turn's rows have an index."""
    return 0 if len(turn) == _ID_CHARS else max(0, before - _LOOKED_THROUGH)


def rows(
    before: int,
    limit: int,
    *,
    text: str = "",
    tool: str = "",
    pack: str = "",
    stage: str = "",
    origin: str = "",
    turn: str = "",
    since: str = "",
    until: str = "",
) -> Query[list[Facts]]:
    """The newest `limit` rows of those below `before` that are looked through; "" = any.

    `text` occurs in tool, pack, reason, turn or call; `turn` is an id, or the end of one. Moments
    are UTC, as they are stored; `until` is too late already. Of a row that is `off_record` tool,
    call, pack, origin and reason are "".
    """
    like = f"%{_plain(text)}%" if text else ""
    equal = (until, until, tool, tool, pack, pack, stage, stage, origin, origin)
    values = (before, reaches(turn, before), since, *equal, *(like,) * 6, limit)
    if len(turn) == _ID_CHARS:
        return Query(_ROWS + "WHERE turn_id = ? " + _SOUGHT, (turn, *values), _rows)
    ends = f"%{_plain(turn)}"
    return Query(_ROWS + "WHERE turn_id LIKE ? ESCAPE '\\' " + _SOUGHT, (ends, *values), _rows)


def uses() -> Query[list[Use]]:
    """How often each pack's calls ended how, whatever their tool, which is ""."""
    return Query(
        "SELECT pack, '' AS tool, stage, sum(times) AS times, max(last) AS last FROM "  # as indexed
        "(SELECT pack, tool, stage, count(*) AS times, max(at) AS last FROM audit "
        "WHERE stage IN ('EXECUTED', 'FAILED', 'BLOCKED') AND digest <> '' "
        "GROUP BY pack, tool, stage) GROUP BY pack, stage ORDER BY pack, stage",
        (),
        _uses,
    )


def uses_of(pack: str) -> Query[list[Use]]:
    """How often each tool of a pack ended how; if a model made up very many, the most called."""
    return Query(
        "SELECT pack, tool, stage, count(*) AS times, max(at) AS last FROM audit "
        "WHERE stage IN ('EXECUTED', 'FAILED', 'BLOCKED') AND digest <> '' AND pack = ? "
        "GROUP BY tool, stage ORDER BY times DESC, tool LIMIT ?",
        (pack, _USES_MAX),
        _uses,
    )


def refusals_of(pack: str) -> Query[list[Facts]]:
    """Why calls of a pack were refused, by tool: how often, when last and in which turn; the
    newest reasons first."""
    return Query(
        "SELECT tool, reason, count(*) AS times, max(at) AS last, turn_id FROM audit "
        "WHERE stage IN ('EXECUTED', 'FAILED', 'BLOCKED') AND digest <> '' AND pack = ? "
        "AND stage = 'BLOCKED' GROUP BY tool, reason ORDER BY last DESC LIMIT ?",
        (pack, _REFUSALS_MAX),
        lambda found: list(map(dict, found)),
    )


def _plain(text: str) -> str:
    """Return a text that LIKE takes as it is."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _ends(found: Sequence[sqlite3.Row]) -> tuple[int, int]:
    return found[0]["low"] or 0, found[0]["high"] or 0


def _rows(found: Sequence[sqlite3.Row]) -> list[Facts]:
    return [{**dict(row), "off_record": bool(row["off_record"])} for row in found]


def _uses(found: Sequence[sqlite3.Row]) -> list[Use]:
    return [Use(**dict(row)) for row in found]
