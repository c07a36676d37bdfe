"""What several path tests look at, and how they wait for it without sleeping."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar, cast

from aouo.emulator import ChatMessage
from aouo.emulator.description import JsonObject
from aouo.emulator.world import UpdateQueue
from tests.fakes.clock import FastClock
from tests.fakes.model_server import CallPart, words_of
from tests.path.world import ADA, WAIT_S, Running, World, without_receipt

T = TypeVar("T")
Calls: TypeAlias = list[dict[str, Any]]
_ROUNDS = 4
_LOOK_EVERY_S = 0.004
_ASIDE = re.compile(r"<<[0-9A-Z]{26}>>\n")
PHOTO_LINE = "[photo, seen in this turn only; a reply to it shows it again]"
"""What history keeps of a picture that a model sees."""


async def eventually(look: Callable[[], Awaitable[T]]) -> T:
    """The first true answer of `look`, which has to wait for something itself."""
    async with asyncio.timeout(WAIT_S):
        while not (found := await look()):  # noqa: ASYNC110 - nobody tells of a row
            await asyncio.sleep(_LOOK_EVERY_S)  # who looks all the time keeps the rest from it
        return found


async def cut_off(bot: Running) -> None:
    """End what runs, as a process does that is told to stop and does not wait for it."""
    bot.app.lanes.close()
    rows = await bot.rows("SELECT id FROM jobs WHERE state = 'running'")
    bot.app.running.give_back([row["id"] for row in rows], waiting=False)


async def come_at_s(
    world: World, method: str, step_s: float, over: Callable[[Calls], Awaitable[bool]]
) -> list[float]:
    """When each call of a method came, in seconds of the world's clock, seen up to a step late.

    The clock goes on by steps, and only when what was due has reached Telegram: how busy the
    machine is does not show. To be given a `FastClock` that hardly moves by itself.
    """
    clock, came_s = cast("FastClock", world.clock), list[float]()

    async def look() -> bool:
        found = await world.people.calls(method)
        came_s.extend([clock.monotonic_s()] * (len(found) - len(came_s)))
        return await over(found)

    await in_steps(world, step_s, look)
    return came_s


async def in_steps(world: World, step_s: float, look: Callable[[], Awaitable[T]]) -> T:
    """The first true answer of `look`, while the clock goes on by steps as in `come_at_s`."""
    async with asyncio.timeout(WAIT_S):
        while not (found := await look()):
            cast("FastClock", world.clock).jump(step_s)
            for _ in range(_ROUNDS):
                await world.people.calls()
                await _behind_what_is_stored(world)
        return found


async def _behind_what_is_stored(world: World) -> None:
    """Pass once through the threads of the runtime's database, after all that waits for them."""
    if world.bot:
        database = world.bot.app.shared.database
        await database.transact(lambda _: None)
        await database.read(lambda _: None)


async def route(bot: Running, chat: int = ADA, thread: str = "") -> dict[str, Any]:
    rows = await bot.rows(
        "SELECT * FROM conversation_routes WHERE chat_id = ? AND thread_id = ?", str(chat), thread
    )
    return rows[0]


async def crossed_keys(bot: Running) -> list[dict[str, Any]]:
    """Routes whose session has another key than the one derived from address and pack."""
    rows = await bot.rows(
        "SELECT r.*, s.session_key FROM conversation_routes AS r JOIN sessions AS s "
        "ON s.id = r.session_id"
    )
    return [row for row in rows if row["session_key"] != _derived(row)]


def _derived(row: dict[str, Any]) -> str:
    """Design 3.2, written once more and independently."""
    key = f"{row['platform']}:{row['chat_id']}"
    key += f":thread:{row['thread_id']}" if row["thread_id"] else ""
    key += f":user:{row['user_id']}" if row["user_id"] else ""
    return key + (f":pack:{row['active_pack']}" if row["active_pack"] else "")


async def answers(world: World, chat: int = ADA, thread: int | None = None) -> list[str]:
    """What the bot says there, without the lines that say what a turn changed."""
    found = await world.people.messages(chat, thread)
    return [without_receipt(m.text) for m in found if m.from_bot]


async def said(world: World, text: str, chat: int = ADA, thread: int | None = None) -> ChatMessage:
    """Wait until the bot has a message with exactly this text there, or with this above what the
    turn changed."""

    async def look() -> ChatMessage | None:
        found = await world.people.messages(chat, thread)
        return next(
            (m for m in found if m.from_bot and text in (m.text, without_receipt(m.text))), None
        )

    try:
        return await world.people.until(look)
    except TimeoutError:
        raise TimeoutError(f"no {text!r} in {await answers(world, chat, thread)}") from None


async def alone(world: World, begins: str) -> ChatMessage:
    """Wait until the bot shows Ada nothing but one message, which begins so."""

    async def look() -> ChatMessage | None:
        shown = [m for m in await world.people.messages(ADA) if m.from_bot]
        return shown[0] if len(shown) == 1 and shown[0].text.startswith(begins) else None

    return await world.people.until(look)


async def settled(bot: Running) -> None:
    """Wait until no job is ready, gathering or running and nothing waits to be sent."""

    async def look() -> bool:
        open_jobs = await bot.rows(
            "SELECT 1 FROM jobs WHERE state IN ('ready', 'gathering', 'running')"
        )
        unsent = await bot.rows("SELECT 1 FROM deliveries WHERE state IN ('queued', 'sending')")
        return not open_jobs and not unsent

    await eventually(look)


async def asked(world: World, times: int) -> None:
    """Wait until the model was asked so often."""

    async def look() -> bool:
        return len(world.model.requests) == times

    await eventually(look)


def prompts(world: World) -> list[str]:
    """The words of each request that the person, or we on their behalf, said last.

    What the runtime asks for itself, such as a title when nobody waits, is left out.
    """
    words = (
        next(words_of(m) for m in reversed(body["messages"]) if m["role"] == "user")
        for body in world.model.requests
    )
    return [said for said in words if not _ASIDE.match(said)]


class Withholding(UpdateQueue):
    """Telegram's queue, where some messages come late or never."""

    def __init__(self, world: World, late: Callable[[JsonObject], bool]) -> None:
        super().__init__()
        self._late = late
        self._withheld: list[JsonObject] = []
        world.emulator.world.updates = self

    def push(self, kind: str, content: JsonObject) -> int | None:
        if self._late(content):
            self._withheld.append(content)
            return None
        return super().push(kind, content)

    def let_go(self) -> None:
        for content in self._withheld:
            super().push("message", content)
        self._withheld.clear()


async def heard(world: World, *calls: CallPart) -> list[str]:
    """What the model reads as the results of these calls, made in one turn of one life."""
    world.model.calls(*calls)
    world.model.say("done")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await said(world, "done")
        await settled(bot)
    messages: list[dict[str, Any]] = world.model.requests[-1]["messages"]
    return [words_of(m) for m in messages if m["role"] == "tool"]
