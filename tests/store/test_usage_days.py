"""The sums of a day are those of its rows, whatever is written, changed and removed. Source: issue
15, "daily sums that a test proves equal to the rows"."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.records import Spent
from aouo.facts.transcript import Usage
from aouo.store import usage
from aouo.store.database import Tx
from aouo.store.opening import make_tables

NOW = "2026-11-21T10:00:00.000+00:00"
KEYS = "day, pack, provider, model, person, scope"
SUMS = (
    f"SELECT {KEYS}, sum(calls), sum(input_tokens), sum(cached_tokens), sum(output_tokens), "
    f"sum(unpriced * calls), count(*), sum(cost_usd) FROM usage_events GROUP BY {KEYS} "
    f"ORDER BY {KEYS}"
)
DAYS = (
    f"SELECT {KEYS}, calls, input_tokens, cached_tokens, output_tokens, unpriced, events, cost_usd "
    f"FROM usage_days ORDER BY {KEYS}"
)

rows = st.builds(
    Spent,
    scope=st.sampled_from(("llm", "stt", "tool:fetch")),
    day=st.sampled_from(("2026-11-20", "2026-11-21", "9999-12-31")),
    provider=st.sampled_from(("", "openai")),
    model=st.sampled_from(("", "gpt-6", "‮<script>")),
    pack=st.sampled_from(("", "notes")),
    person=st.sampled_from(("", "1001")),
    tokens=st.builds(
        Usage,
        input_tokens=st.integers(0, 10**9),
        cached_tokens=st.integers(0, 10**6),
        output_tokens=st.integers(0, 10**9),
    ),
    cost_usd=st.floats(0, 1000),
    unpriced=st.booleans(),
)
removals = st.sampled_from(
    (
        "DELETE FROM usage_events WHERE day = '2026-11-20'",
        "DELETE FROM usage_events WHERE id % 3 = 0",
        "DELETE FROM usage_events WHERE person = '1001'",
        "DELETE FROM usage_events WHERE id = (SELECT max(id) FROM usage_events)",
        "UPDATE usage_events SET person = '' WHERE person = '1001'",
        "UPDATE usage_events SET cost_usd = cost_usd + 1, unpriced = 0 WHERE id % 2 = 0",
        "UPDATE usage_events SET session_id = 'moved'",
    )
)


def with_tables() -> Tx:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.row_factory = sqlite3.Row
    tx = Tx(connection)
    make_tables(tx)
    return tx


def rounded(found: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [[*row[:-1], pytest.approx(row[-1], abs=1e-9)] for row in found]


@given(st.lists(st.one_of(rows, removals), max_size=40))
def test_the_sums_of_a_day_are_those_of_its_rows(steps: list[Spent | str]) -> None:
    tx = with_tables()
    connection = tx._connection
    for step in steps:
        if isinstance(step, Spent):
            usage.record(tx, step, NOW)
        else:
            connection.execute(step)
    sums, days = connection.execute(SUMS).fetchall(), connection.execute(DAYS).fetchall()
    connection.close()

    assert [list(row) for row in days] == rounded(sums)


def test_reservations_of_a_dead_process_are_in_the_sums() -> None:
    tx = with_tables()
    worst = Spent("llm", "2026-11-21", "openai", "gpt-6", cost_usd=0.5, reservation="r")
    usage.put_reservation(tx, worst, NOW)
    usage.write_off(tx)
    (day,) = tx.all(DAYS)
    tx._connection.close()

    assert (day["calls"], day["cost_usd"]) == (1, 0.5)
