"""Fills a home's database with a past: turns of many days, and what they used."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound, Person, Text
from aouo.facts.ports import iso
from aouo.facts.records import Spent
from aouo.facts.transcript import AssistantSaid, Usage
from aouo.store import jobs, routes, sessions, turns, usage
from aouo.store.database import Tx, connect
from aouo.store.opening import make_tables

_MODELS = (
    ("anthropic", "claude-sonnet-4-5", 3e-6, 15e-6),
    ("openai", "gpt-5-mini", 0.25e-6, 2e-6),
    ("mistral", "mistral-small-latest", 0.1e-6, 0.3e-6),
)
_SCOPES = ("llm", "llm", "llm", "tool:persist", "title", "summary", "tool:fetch", "judge")
_SAID = ("Remember that the bees come on Friday", "What did I note about the roof?")
_EACH = 500


def put_past(
    database: Path,
    people: Sequence[tuple[int, str]],
    *,
    packs: Sequence[str] = ("notes",),
    count: int = 10_000,
    uses: int = 10,
    days: int = 30,
) -> None:
    """Write so many turns, with `uses` rows of usage each, spread over the days until now; what
    they say and cost is the same each time. The tables are made if there are none."""
    made = random.Random(15)
    now = datetime.now(UTC)  # noqa: TID251 - whoever looks at it goes by the real clock
    moments = [now - timedelta(days=days) * made.random() for _ in range(count)]
    moments.sort()
    with closing(connect(database)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        make_tables(Tx(connection))
        for number, moment in enumerate(moments):
            _put_turn(Tx(connection), made.choice(people), made.choice(packs), moment, uses, made)
            if not number % _EACH:
                connection.execute("COMMIT")
                connection.execute("BEGIN IMMEDIATE")
        connection.execute("COMMIT")


def _put_turn(
    tx: Tx,
    who: tuple[int, str],
    pack: str,
    moment: datetime,
    uses: int,
    made: random.Random,
) -> None:
    now, text = iso(moment), made.choice(_SAID)
    address = ConversationAddress("tg", str(who[0]))
    route = routes.get_or_create(tx, address, "private", now)
    routes.set_pack(tx, route, pack, now)
    route = routes.get_or_create(tx, address, "private", now)
    session = sessions.resolve(tx, route, address, pack, now)
    inbound = Inbound(address, Person(str(who[0]), who[1]), Text(text))
    job_id = jobs.add(tx, address.lane, inbound, now)
    job = jobs.claim(tx, address.lane)
    assert job is not None
    turn = turns.open_turn(tx, job_id, session.id, pack, "", text, now)
    for _ in range(uses):
        provider, model, input_usd, output_usd = made.choice(_MODELS)
        tokens = Usage(made.randrange(500, 6000), made.randrange(500), made.randrange(20, 600))
        scope = made.choice(_SCOPES)
        if scope.startswith("tool:"):
            tokens = Usage(0, 0, 0)
        cost_usd = tokens.input_tokens * input_usd + tokens.output_tokens * output_usd
        spent = Spent(
            scope,
            now[:10],
            provider,
            model,
            pack,
            session.id,
            str(who[0]),
            turn.id,
            tokens,
            cost_usd,
            made.randrange(40, 4000),
        )
        usage.record(tx, spent, now)
    turns.close_ack(
        tx, turn, AssistantSaid("I have kept it."), (), iso(moment + timedelta(seconds=2))
    )
    jobs.settle(tx, job, "done", "turn", now)
