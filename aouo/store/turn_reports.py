"""Reports turns: one line each, sums of what they recorded, and the texts that are kept."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString, TypeAlias

from aouo.facts.address import ConversationAddress
from aouo.plumbing.control import Facts
from aouo.store.rows import made
from aouo.store.snapshots import Query


@dataclass(frozen=True, slots=True)
class TurnLine:
    """A turn; `status` is open | ack | nack | aborted, and `reason` why it has no answer.

    Moments are as they are stored, "" = not yet; `asked_at` is when its message came in. `ms` is
    how long it took, and `waited_ms` how much of that it waited for a person; both 0 while it is
    open. `models` are those that answered. Of one that is off the record only id, status and times
    are told.
    """

    id: str
    status: str
    resumes: int
    asked_at: str
    started_at: str
    settled_at: str
    ms: int
    waited_ms: int
    off_record: bool = True
    wrote: str = ""
    """The beginning of what somebody wrote."""
    reason: str = ""
    pack: str = ""
    skill: str = ""
    session_id: str = ""
    person: str = ""
    origin: str = ""
    models: tuple[str, ...] = ()
    calls: int = 0
    tools: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced_calls: int = 0
    """Those that have no known price, so that their cost is not in `cost_usd`."""


_LOOKED_BACK = 200
"""How many of a chat's newest messages, and of a session's newest turns, are looked at."""
_FOUND: LiteralString = (
    "SELECT t.id, t.status, t.reason, t.pack, t.skill, t.session_id, t.off_record, t.resumes, "
    "t.started_at, t.settled_at, j.person, j.origin, j.created_at AS asked_at, "
    "coalesce((SELECT substr(m.text, 1, 200) FROM messages AS m WHERE m.turn_id = t.id "
    "AND m.role = 'user' ORDER BY m.id LIMIT 1), '') AS wrote "
    "FROM turns AS t JOIN jobs AS j ON j.id = t.job_id WHERE "
)
_USED: LiteralString = (
    "SELECT f.*, "
    "CASE f.settled_at WHEN '' THEN 0 ELSE max(0, round((julianday(f.settled_at) "
    "- julianday(f.started_at)) * 86400000)) END AS ms, "
    "(SELECT coalesce(sum(max(0, round((julianday(g.settled_at) - julianday(g.created_at)) "
    "* 86400000))), 0) FROM gates AS g WHERE g.turn_id = f.id AND g.settled_at <> '') "
    "AS waited_ms, "
    "json_group_array(DISTINCT CASE u.scope WHEN 'llm' THEN u.provider || '/' || u.model END) "
    "AS models, "
    "count(u.id) - coalesce(sum(u.scope LIKE 'tool:%'), 0) AS calls, "
    "coalesce(sum(u.scope LIKE 'tool:%'), 0) AS tools, "
    "coalesce(sum(u.input_tokens), 0) AS input_tokens, "
    "coalesce(sum(u.cached_tokens), 0) AS cached_tokens, "
    "coalesce(sum(u.output_tokens), 0) AS output_tokens, "
    "coalesce(sum(u.cost_usd), 0) AS cost_usd, "
    "coalesce(sum(u.unpriced * u.calls), 0) AS unpriced_calls "
    "FROM found AS f LEFT JOIN usage_events AS u "
    "ON u.session_id IN (f.session_id, '') AND u.turn_id = f.id GROUP BY f.id "
)
_SAME_MODEL: LiteralString = (
    "EXISTS (SELECT 1 FROM usage_events AS u WHERE u.session_id = t.session_id "
    "AND u.turn_id = t.id AND ? IN (u.model, u.provider || '/' || u.model))"
)


def one_line(turn_id: str) -> Query[TurnLine | None]:
    """Find a turn by its id."""
    sql: LiteralString = "WITH found AS (" + _FOUND + "t.id = ?) " + _USED
    return Query(sql, (turn_id,), _first)


def ending(wanted: str) -> Query[TurnLine | None]:
    """Find the newest turn whose id ends so; "" = the newest of all."""
    sql: LiteralString = (
        "WITH found AS ("
        + _FOUND
        + "(? = '' OR substr(t.id, -length(?)) = ?) ORDER BY t.id DESC LIMIT 1) "
        + _USED
    )
    return Query(sql, (wanted, wanted, wanted), _first)


def newest_here(
    address: ConversationAddress, session_id: str, person: str
) -> Query[TurnLine | None]:
    """Find the newest turn of a conversation, by what was said there last and by its session;
    `person`: one of theirs, "" = anybody's."""
    sql: LiteralString = (
        "WITH found AS ("
        + _FOUND
        + "(t.id IN (SELECT turn_id FROM (SELECT turn_id, platform, thread_id FROM deliveries "
        "WHERE chat_id = ? AND message_id > 0 ORDER BY message_id DESC LIMIT ?) "
        "WHERE platform = ? AND thread_id = ?) OR t.id IN (SELECT id FROM turns "
        "WHERE session_id = ? ORDER BY id DESC LIMIT ?)) "
        "AND j.platform = ? AND j.chat_id = ? AND j.thread_id = ? AND (? = '' OR j.person = ?) "
        "ORDER BY t.id DESC LIMIT 1) " + _USED
    )
    platform, chat_id, thread_id, _ = address.columns
    here = (platform, chat_id, thread_id)
    looked_back = (chat_id, _LOOKED_BACK, platform, thread_id, session_id, _LOOKED_BACK)
    return Query(sql, (*looked_back, *here, person, person), _first)


def newest(
    limit: int,
    *,
    pack: str = "",
    person: str = "",
    status: str = "",
    origin: str = "",
    model: str = "",
    reason: str = "",
    session: str = "",
    since: str = "",
    until: str = "",
    older: str = "",
) -> Query[list[TurnLine]]:
    """Find turns, newest first; "" = whatever they are.

    `reason` is a part of it, `model` as `provider/model` or the model alone. `since` and `until`
    bound when a turn began: moments as they are stored, the later one not included. `older` is the
    id of the turn before which to go on. What is told of none that is off the record finds none of
    them.
    """
    conditions: list[LiteralString] = ["1"]
    values: list[str | int] = []

    def have(condition: LiteralString, *given: str) -> None:
        if given[0]:
            conditions.append(condition)
            values.extend(given)

    have("t.id < ?", older)
    have("t.status = ?", status)
    have("t.started_at >= ?", since)
    have("t.started_at < ?", until)
    have("t.off_record = 0 AND t.session_id = ?", session)
    have("t.off_record = 0 AND t.pack = ?", pack)
    have("t.off_record = 0 AND j.person = ?", person)
    have("t.off_record = 0 AND j.origin = ?", origin)
    have("t.off_record = 0 AND instr(lower(t.reason), lower(?)) > 0", reason)
    have("t.off_record = 0 AND " + _SAME_MODEL, model)
    sql: LiteralString = (
        "WITH found AS ("
        + _FOUND
        + " AND ".join(conditions)
        + " ORDER BY t.id DESC LIMIT ?) "
        + _USED
        + "ORDER BY f.id DESC"
    )
    return Query(sql, (*values, limit), _lines)


def slowest(since: str, until: str, limit: int) -> Query[list[TurnLine]]:
    """Find the turns of these moments that took longest, without what they waited for a person;
    none that is off the record."""
    sql: LiteralString = (
        "WITH timed AS (SELECT t.id AS turn_id, julianday(t.settled_at) - julianday(t.started_at) "
        "- (SELECT coalesce(sum(julianday(g.settled_at) - julianday(g.created_at)), 0) "
        "FROM gates AS g WHERE g.turn_id = t.id AND g.settled_at <> '') AS days "
        "FROM turns AS t WHERE t.started_at >= ? AND t.started_at < ? AND t.settled_at <> '' "
        "AND t.off_record = 0 ORDER BY days DESC LIMIT ?), found AS ("
        + _FOUND
        + "t.id IN (SELECT turn_id FROM timed)) "
        + _USED
        + "ORDER BY ms - waited_ms DESC"
    )
    return Query(sql, (since, until, limit), _lines)


def _first(rows: Sequence[sqlite3.Row]) -> TurnLine | None:
    return _line(rows[0]) if rows else None


def _lines(rows: Sequence[sqlite3.Row]) -> list[TurnLine]:
    return [_line(row) for row in rows]


def _line(row: sqlite3.Row) -> TurnLine:
    ms, waited_ms = int(row["ms"]), int(row["waited_ms"])
    if row["off_record"]:
        moments = (row["asked_at"], row["started_at"], row["settled_at"])
        return TurnLine(row["id"], row["status"], row["resumes"], *moments, ms, waited_ms)
    models: list[str | None] = json.loads(row["models"])
    return made(TurnLine, row, ms=ms, waited_ms=waited_ms, models=tuple(filter(None, models)))


READ_CHARS = 10_000
"""Of a reason, and of what a platform said, that are read: who shows them redacts, then cuts."""
_MOST = 100


def sums(since: str, until: str) -> Query[Facts]:
    """Sum up the turns that began from `since` until `until`, which is not included.

    How many, and how many of them failed, were stopped or taken up, or had a stale route; `edits`
    is how often messages were edited while answers grew, in turns with `edited_tokens` of output.
    """
    return Query(
        "SELECT count(*) AS turns, coalesce(sum(status = 'nack'), 0) AS failed, "
        "coalesce(sum(status = 'aborted'), 0) AS aborted, "
        "coalesce(sum(resumes > 0), 0) AS resumed, "
        "coalesce(sum(json_extract(recorded, '$.stale_route')), 0) AS stale_routes, "
        "coalesce(sum(json_extract(recorded, '$.edits')), 0) AS edits, "
        "coalesce(sum(CASE WHEN json_extract(recorded, '$.edits') > 0 THEN "
        "(SELECT sum(u.output_tokens) FROM usage_events AS u WHERE u.session_id = turns.session_id "
        "AND u.turn_id = turns.id "
        "AND u.scope = 'llm') END), 0) AS edited_tokens FROM (SELECT id, session_id, status, "
        "resumes, CASE WHEN json_valid(recorded) THEN recorded END AS recorded FROM turns "
        "WHERE started_at >= ? AND started_at < ?) AS turns",
        (since, until),
        lambda rows: dict(rows[0]),
    )


def failed_tries(since: str, until: str) -> Query[list[Facts]]:
    """Sum up the models' failures in those turns, most first; none that was off the record."""
    return Query(
        "SELECT json_extract(tries.value, '$[0]') AS failed, "
        "json_extract(tries.value, '$[1]') AS asked, "
        "json_extract(tries.value, '$[2]') AS error, "
        "sum(json_extract(tries.value, '$[3]')) AS times "
        "FROM turns, json_each(CASE WHEN json_valid(turns.recorded) THEN turns.recorded END, "
        "'$.tries') AS tries WHERE turns.started_at >= ? AND turns.started_at < ? "
        "AND turns.off_record = 0 "
        "GROUP BY 1, 2, 3 ORDER BY times DESC, 1, 2, 3 LIMIT ?",
        (since, until, _MOST),
        lambda rows: list(map(dict, rows)),
    )


def refused_calls(since: str, until: str) -> Query[list[Facts]]:
    """Sum up the tool calls that were refused in those turns by the same judge for the same
    reason, most often first; none that was off the record."""
    return Query(
        "SELECT a.tool, a.pack, a.judge, substr(a.reason, 1, ?) AS reason, count(*) AS times "
        "FROM turns AS t JOIN audit AS a ON a.turn_id = t.id AND a.stage = 'BLOCKED' "
        "WHERE t.started_at >= ? AND t.started_at < ? AND t.off_record = 0 "
        "GROUP BY 1, 2, 3, 4 ORDER BY times DESC, 1, 2, 3, 4 LIMIT ?",
        (READ_CHARS, since, until, _MOST),
        lambda rows: list(map(dict, rows)),
    )


MOST = 200
Kept: TypeAlias = tuple[str, int]
"""The beginning of a text, and how many characters it has in all."""


def words(turn_id: str, at_most_chars: int) -> Query[list[Kept]]:
    """Find the words that began a turn, and then its answer; [] = they are not kept."""
    return Query(
        "SELECT substr(text, 1, ?) AS text, length(text) AS chars FROM messages WHERE id IN "
        "((SELECT min(id) FROM messages WHERE turn_id = ? AND role = 'user'), "
        "(SELECT max(id) FROM messages WHERE turn_id = ? AND role = 'assistant')) ORDER BY id",
        (at_most_chars, turn_id, turn_id),
        lambda rows: [(row["text"], row["chars"]) for row in rows],
    )


def calls(turn_id: str, at_most_chars: int) -> Query[dict[str, dict[str, Kept]]]:
    """Find the `arguments` and the `result` of a turn's first calls, by the id of the call."""
    return Query(
        "SELECT id, substr(arguments, 1, ?) AS arguments, length(arguments) AS arguments_chars, "
        "substr(result, 1, ?) AS result, length(result) AS result_chars FROM tool_calls "
        "WHERE turn_id = ? ORDER BY started_at, id LIMIT ?",
        (at_most_chars, at_most_chars, turn_id, MOST),
        lambda rows: {
            row["id"]: {name: (row[name], row[f"{name}_chars"]) for name in ("arguments", "result")}
            for row in rows
        },
    )
