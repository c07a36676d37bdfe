"""A process killed anywhere while it sets topics up creates none twice. Source: issue 4, §3.5."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from aouo.emulator import ADA
from tests.path.killing import IN_DOUBT, START_UP
from tests.path.lives import Place, place
from tests.sampling import places

KILLED_AT = range(1 + START_UP, 52, 3)
AT_ONCE = 6
GREETINGS = {name: f"“{name}” answers here now." for name in ("notes", "vocab")}


async def _live(here: Place, club: int, kill_at: int = 0) -> None:
    """One life up to its end, whoever brings it about."""
    async with here.alive(kill_at=kill_at) as life:
        if len(here.lives) == 1:
            await here.emulator.client.say(ADA, club, "/setup_topics")

        async def done() -> bool:
            open_work = here.rows(
                "SELECT id FROM jobs WHERE state <> 'done' UNION ALL "
                "SELECT id FROM deliveries WHERE state IN ('queued', 'sending')"
            )
            settled = bool(here.rows("SELECT 1 FROM jobs WHERE state = 'done'")) and not open_work
            return life.gone.is_set() or (settled and here.calls("setMyCommands", 200) == 1)

        await here.until(done)
        life.stop()
        async with asyncio.timeout(30):
            await life.gone.wait()


async def _killed(folder: Path, kill_at: int, port: int) -> tuple[list[str], list[str]]:
    """Where it was killed, and what is wrong afterwards."""
    async with place(folder, ("notes", "vocab"), lambda _: "unasked", runner_port=port) as here:
        people = here.emulator.client
        club = await people.create_chat("Club", [ADA], kind="forum")
        await _live(here, club, kill_at)
        await _live(here, club)
        (chat,) = [one for one in (await people.act("state"))["chats"] if one["id"] == club]
        topics = {one["message_thread_id"]: one["name"] for one in chat["topics"]}
        bound = here.rows(
            "SELECT thread_id, active_pack FROM conversation_routes WHERE active_pack <> ''"
        )
        problems: list[str] = []
        if sorted(topics.values()) != sorted(GREETINGS):
            problems.append(f"topics: {topics}")
        if {int(row["thread_id"]): row["active_pack"] for row in bound} != topics:
            problems.append(f"routes: {bound}")
        if left := here.rows("SELECT * FROM topic_intents"):
            problems.append(f"intents: {left}")
        for thread, name in topics.items():
            said = [m.text for m in await people.messages(club, thread) if m.from_bot and m.text]
            if said and said[-1].startswith(IN_DOUBT):  # it may have arrived
                said.pop()
            if said not in ([], [GREETINGS[name]]):
                problems.append(f"{name}: {said}")
        return here.kills, problems


async def test_a_process_killed_anywhere_while_it_sets_topics_up_creates_none_twice(
    tmp_path: Path, runner_port: int
) -> None:
    free = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> tuple[list[str], list[str]]:
        async with free:
            return await _killed(tmp_path / str(number), number, runner_port)

    async with asyncio.TaskGroup() as group:
        tasks = {number: group.create_task(one(number)) for number in places(KILLED_AT)}
    runs = {number: task.result() for number, task in tasks.items()}

    if wrong := {number: run for number, run in runs.items() if run[1]}:
        pytest.fail("\n".join(f"{number}: {run}" for number, run in wrong.items()), pytrace=False)
    assert sum(bool(kills) for kills, _ in runs.values()) > len(runs) * 2 / 3
