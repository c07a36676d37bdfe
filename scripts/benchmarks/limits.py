"""Telegram's limits: what one chat's penalty costs another, and how often a stream is edited."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

from aouo.emulator import ADA, BEN, FAMILY, HOUSEHOLD, NOTES, VOCAB
from scripts.benchmarks.figures import MODEL, SERVICE, Bench
from scripts.benchmarks.table import Row
from tests.fakes.models import ModelService, Reply, Says, profile
from tests.fakes.models.asked import Asked
from tests.fakes.telegram import LocalTelegram, People

_PENALTY_S = 8
_CHUNK_EVERY_S = 0.1
_STREAM_CHARS = 3_600  # in one message
_SHOWN = ("sendMessage", "editMessageText")


def limits(bench: Bench, *, quick: bool) -> list[Row]:
    """The real channel against the emulator over HTTP, at the speed of real time."""
    return asyncio.run(_measure(bench, stream_s=10.0 if quick else 30.0))


async def _measure(bench: Bench, *, stream_s: float) -> list[Row]:
    chunks = round(stream_s / _CHUNK_EVERY_S)

    def script(asked: Asked) -> Reply | str:
        if "stream" not in asked.words:
            return "Here I am."
        text = ("lorem ipsum dolor " * _STREAM_CHARS)[:_STREAM_CHARS]
        return Says(text, chunks=chunks, stall_after=tuple(range(1, chunks)))

    async with LocalTelegram() as emulator, ModelService(profile(SERVICE), script) as model:
        bot = bench.elsewhere(emulator.base_url, model.settings(MODEL), [ADA, BEN])
        process = await asyncio.to_thread(bot.start, emulator.token)
        try:
            penalty = await _penalty(emulator.client)
            async with _ticking(model):
                streams = await _streams(emulator.client, stream_s)
        finally:
            await asyncio.to_thread(process.end)
    return [*penalty, *streams]


async def _penalty(people: People) -> list[Row]:
    """Ben's replies before and during Ada's penalty; apart enough for no bucket to be empty."""
    await _reply_s(people, ADA)  # the first turns warm everything
    await _reply_s(people, BEN)
    before = [await _reply_s(people, BEN) for _ in range(4)]
    await people.fault("status", method="sendMessage", chat=ADA, status=429, retry_after=_PENALTY_S)
    said = await people.say(ADA, ADA, "Hello")
    since = time.monotonic()

    async def refused() -> bool:
        return not await people.faults_pending()

    await people.until(refused)
    during = [await _reply_s(people, BEN) for _ in range(4)]
    await people.next_message(ADA, after=said.id, timeout_s=3.0 * _PENALTY_S)
    waited_s = time.monotonic() - since
    delay_s = statistics.median(during) - statistics.median(before)
    return [
        Row(
            f"another chat's reply in a penalty of {_PENALTY_S} s",
            "s later",
            delay_s,
            aim="< 0.2",
            digits=3,
            n=len(during),
        ),
        Row("  slowest of them, update → answer", "s", max(during), digits=3, n=len(during)),
        Row("  the chat's own answer after", "s", waited_s, aim=f"≥ {_PENALTY_S}", digits=1),
    ]


async def _reply_s(people: People, chat: int) -> float:
    await asyncio.sleep(1.1)
    since = time.monotonic()
    said = await people.say(chat, chat, "Hello")
    await people.next_message(chat, after=said.id)
    return time.monotonic() - since


@asynccontextmanager
async def _ticking(model: ModelService) -> AsyncGenerator[None]:
    """Every stream goes on by one chunk at each tick."""

    async def tick() -> None:
        while True:
            await asyncio.sleep(_CHUNK_EVERY_S)
            model.release.set()  # wakes who waits now, each for one chunk
            model.release.clear()

    async with asyncio.TaskGroup() as group:
        ticks = group.create_task(tick())
        try:
            yield
        finally:
            ticks.cancel()


async def _streams(people: People, stream_s: float) -> list[Row]:
    """Four streams at once: a private chat without a penalty, a group, two topics of a forum."""
    us = f"@{(await people.act('state'))['bot']['username']}"
    begun = len(await people.calls())
    places = ((BEN, None), (FAMILY, None), (HOUSEHOLD, NOTES), (HOUSEHOLD, VOCAB))
    for chat, thread in places:
        await people.say(BEN, chat, f"{us} stream", thread=thread)

    async def over() -> bool:
        counts = [await _ended(people, chat, thread) for chat, thread in places]
        return all(counts)

    await people.until(over, timeout_s=stream_s * 3 + 30)
    calls = (await people.calls())[begun:]
    topics = [
        one
        for thread in (NOTES, VOCAB)
        for one in await people.messages(HOUSEHOLD, thread)
        if one.from_bot
    ]
    return [
        *_edits("private chat", _made(calls, BEN), aim="≥ 1.2"),
        *_edits("group", _made(calls, FAMILY), aim="≥ 3"),
        Row("messages of 2 topics that stream at once", "", len(topics), aim="2", digits=0),
    ]


async def _ended(people: People, chat: int, thread: int | None) -> bool:
    shown = [one for one in await people.messages(chat, thread) if one.from_bot]
    return bool(shown) and len(shown[-1].text) >= _STREAM_CHARS - 20


def _made(calls: Sequence[dict[str, Any]], chat: int) -> list[float]:
    """When what is shown in a chat was changed; the last one is the final edit."""
    return [
        call["at"]
        for call in calls
        if call["method"] in _SHOWN and call["params"].get("chat_id") == chat
    ]


def _edits(where: str, at: Sequence[float], *, aim: str) -> list[Row]:
    """The final edit waits for nobody: it is no edit of the stream."""
    stream = at[:-1]
    gaps = [after - before for before, after in pairwise(stream)]
    per_edit_s = (at[-1] - at[0]) / len(gaps)
    return [
        Row(f"stream per edit, {where}", "s", per_edit_s, aim=aim, n=len(gaps)),
        Row("  shortest pause between two of them", "s", min(gaps), n=len(gaps)),
    ]
