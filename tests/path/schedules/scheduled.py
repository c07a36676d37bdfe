"""Makes schedules, and what the model answers to their runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import iso
from aouo.facts.work import Scheduled
from aouo.store import schedules
from tests.fakes.model_server import Body, Reply, words_of
from tests.path.world import ADA, Running

BY_ITSELF = "[a schedule runs this by itself"


def is_run(body: Body) -> bool:
    """Whether a request is of a run, and not of a person's turn."""
    return any(BY_ITSELF in words_of(m) for m in body["messages"] if m["role"] == "user")


def answering(
    run: Callable[[Body], Reply | str], person: Callable[[Body], Reply | str]
) -> Callable[[Body], Reply | str]:
    """A script: runs are answered by one, people by the other."""
    return lambda body: run(body) if is_run(body) else person(body)


async def made(bot: Running, in_s: float = 60, **more: Any) -> Scheduled:
    """A reminder that Ada made, due in so many seconds."""
    now = bot.app.shared.clock.now()
    row = Scheduled(
        id=schedules.new_id(),
        pack="",
        key="",
        origin="person",
        address=ConversationAddress("tg", str(ADA)),
        chat_kind="private",
        person=str(ADA),
        skill="",
        prompt="Remind me to water the plants",
        text="1m",
        zone="UTC",
        since=iso(now - timedelta(minutes=1) + timedelta(seconds=in_s)),
        enabled=True,
        paused="",
        next_due=iso(now + timedelta(seconds=in_s)),
        name="plants",
    )
    row = replace(row, **more)
    await bot.app.shared.database.transact(lambda tx: schedules.add(tx, row, iso(now)))
    return row


async def run_states(bot: Running) -> list[str]:
    """How the runs of all schedules ended, in the order of their due times."""
    rows = await bot.rows("SELECT state FROM schedule_runs ORDER BY due_at")
    return [row["state"] for row in rows]
