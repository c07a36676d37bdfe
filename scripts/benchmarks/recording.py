"""What it costs a turn to record its prompt, and how much it writes."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from aouo.agent.context import Recording
from aouo.agent.tokens import Estimator
from aouo.facts.address import ConversationAddress
from aouo.facts.ids import ulid
from aouo.facts.transcript import Message, ModelRequest, ToolSpec, UserSaid
from aouo.store import contents, sessions
from aouo.store.database import Tx
from aouo.store.opening import opened
from scripts.benchmarks.figures import Bench
from scripts.benchmarks.table import Row

_NOW = "2026-01-01T00:00:00.000+00:00"
_PARTS = [(f"Part {number}", f"Words of the prompt, {number}. " * 60) for number in range(8)]
_CHANGING = [("Here and now", "It is Monday. " * 10), ("Memory", "- tea, and no milk\n" * 80)]
_MESSAGES: tuple[Message, ...] = tuple(UserSaid("What was said before. " * 20) for _ in range(80))
_TOOLS = tuple(ToolSpec(f"tool_{number}", "It does a thing. " * 10, {}) for number in range(20))
_MODEL = ("openai", "a-model")


def recording(bench: Bench, *, quick: bool) -> list[Row]:
    """In a turn with a prompt of 14 KB and a history of 35 KB, and in its last transaction."""
    del bench
    return asyncio.run(_measure(times=500 if quick else 3_000))


async def _measure(times: int) -> list[Row]:
    estimator, took_ms = Estimator(), list[float]()
    request = ModelRequest("", _MESSAGES, _TOOLS, past=79)
    size = 0
    with tempfile.TemporaryDirectory(prefix="aouo-bench-") as folder:
        async with opened(Path(folder) / "aouo.db") as database:
            await database.transact(_begun)
            for _ in range(times):
                turn_id = ulid()

                def write(tx: Tx, turn_id: str = turn_id) -> float:
                    begun_s = time.thread_time()
                    mine = Recording()
                    mine.written(_PARTS, _CHANGING)
                    mine.sent(request, estimator, *_MODEL)
                    kept = mine.prompts()
                    contents.keep_prompts(tx, turn_id, kept)
                    text = mine.recorded(tuple(kept)).dump()
                    tx.run("UPDATE turns SET recorded = ? WHERE id = 't'", text)
                    nonlocal size
                    size = len(text.encode())
                    return (time.thread_time() - begun_s) * 1000

                took_ms.append(await database.transact(write))
    return [
        Row("recording a turn", "ms", statistics.median(took_ms), aim="≤ 0.2", digits=3, n=times),
        Row("  p95", "ms", statistics.quantiles(took_ms, n=20)[-1], digits=3, n=times),
        Row("  its size", "bytes", size, aim="≤ 1000", digits=0, n=1),
    ]


def _begun(tx: Tx) -> None:
    session = sessions.create(tx, ConversationAddress("tg", "1"), "", _NOW)
    tx.run(
        "INSERT INTO jobs (id, lane, platform, chat_id, thread_id, user_id, person, body, state, "
        "created_at) VALUES (1, 'l', 'tg', '1', '', '1', '1', '', 'done', ?)",
        _NOW,
    )
    tx.run(
        "INSERT INTO turns (id, job_id, session_id, pack, skill, status, started_at) "
        "VALUES ('t', 1, ?, '', '', 'ack', ?)",
        session,
        _NOW,
    )
