"""Makes schedules, and what the model answers to their runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import iso
from aouo.facts.work import Scheduled
from aouo.store import schedules
from tests.fakes.model_server import Body, CallPart, Reply, Says, words_of
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


def after_tool(body: Body) -> bool:
    """Whether the model has just read the result of a call."""
    return body["messages"][-1]["role"] == "tool"


def calls_once(tool: str, then: str, **arguments: Any) -> Callable[[Body], Reply | str]:
    """A script: one call, and these words after its result."""
    return lambda body: then if after_tool(body) else Says(calls=(CallPart(tool, arguments),))


def reminder(now: datetime, in_s: float = 60, **more: Any) -> Scheduled:
    """A reminder that Ada made before `now`, due in so many seconds."""
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
    return replace(row, **more)


async def made(bot: Running, in_s: float = 60, **more: Any) -> Scheduled:
    """A reminder that Ada made, due in so many seconds."""
    now = bot.app.shared.clock.now()
    row = reminder(now, in_s, **more)
    await bot.app.shared.database.transact(lambda tx: schedules.add(tx, row, iso(now)))
    return row


async def run_states(bot: Running) -> list[str]:
    """How the runs of all schedules ended, in the order of their due times."""
    rows = await bot.rows("SELECT state FROM schedule_runs ORDER BY due_at")
    return [row["state"] for row in rows]
