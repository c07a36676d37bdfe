"""Sums what turns recorded: model failures, live edits, stale routes, refused calls."""

from __future__ import annotations

from aouo.plumbing.verbs import Facts
from aouo.store.snapshots import Query

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
