"""What it costs a turn to look for what was said before, in a conversation of 10,000 messages."""

from __future__ import annotations

import asyncio
import itertools
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from aouo.agent import retrieval as choose
from aouo.agent.past_steps import fitting
from aouo.agent.tokens import Estimator
from aouo.facts.address import ConversationAddress
from aouo.facts.records import Stretch
from aouo.store import search, sessions
from aouo.store.database import Database, Tx
from aouo.store.opening import opened
from scripts.benchmarks.figures import Bench
from scripts.benchmarks.table import Row

MESSAGES = 10_000
_SENT = 80
_WORDS = 20_000
_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_LETTERS, _HAN = "abcdefghiklmnoprstuvw", "".join(map(chr, range(0x4E00, 0x4E00 + 2_500)))


def retrieval(bench: Bench, *, quick: bool) -> list[Row]:
    """The step without its place in a turn: words, index, choice, text; then what the index costs.

    Words are as frequent as those of a language (Zipf); half of those asked for are frequent.
    """
    del bench
    return asyncio.run(_measure(others=2 if quick else 9, asks=100 if quick else 300))


class _Language:
    """Words by rank, each as often as its rank lets expect."""

    def __init__(self, chance: random.Random, letters: str, lengths: Sequence[int]) -> None:
        self._chance = chance
        self.words = [
            "".join(chance.choices(letters, k=chance.choice(lengths))) for _ in range(_WORDS)
        ]
        self._often = list(itertools.accumulate(1 / (rank + 3) for rank in range(_WORDS)))

    def text(self) -> str:
        chance = self._chance
        length = chance.randint(5, 80)
        return " ".join(chance.choices(self.words, cum_weights=self._often, k=length))

    def question(self) -> str:
        ranks = [self._chance.choice((60, 150, 400, 1_000, 3_000, 9_000)) for _ in range(8)]
        return " ".join(self.words[rank + self._chance.randrange(50)] for rank in ranks)


async def _measure(*, others: int, asks: int) -> list[Row]:
    chance = random.Random(1)
    latin, han = _Language(chance, _LETTERS, range(3, 12)), _Language(chance, _HAN, (1, 2, 3))
    with tempfile.TemporaryDirectory(prefix="aouo-bench-") as folder:
        async with opened(Path(folder) / "aouo.db") as database:
            keys = ("tg:0", "tg:1")
            index_ms = await _said(database, 0, latin)
            await _said(database, 1, han)
            alone = await _ask(database, keys[0], latin, asks)
            unspaced = await _ask(database, keys[1], han, asks)
            for number in range(2, 2 + others):
                await _said(database, number, latin)
            among = await _ask(database, keys[0], latin, asks)
    return [
        _row(f"retrieval at {MESSAGES:,} messages", alone, aim="≤ 1"),
        Row("  p95", "ms", statistics.quantiles(alone, n=20)[-1], digits=3, n=asks),
        _row("  of a language without spaces", unspaced),
        _row(f"  with {others * MESSAGES:,} messages of others", among),
        Row("indexing a message, after its turn", "ms", index_ms, digits=3, n=MESSAGES),
    ]


def _row(figure: str, ms: Sequence[float], aim: str = "") -> Row:
    return Row(figure, "ms", statistics.median(ms), aim=aim, digits=3, n=len(ms))


async def _said(database: Database, number: int, language: _Language) -> float:
    """Fill a conversation; return the milliseconds that indexing one of its messages takes."""
    address = ConversationAddress("tg", str(number))

    def fill(tx: Tx) -> None:
        session = sessions.create(tx, address, "", _NOW.isoformat())
        for _ in range(MESSAGES):
            tx.run(
                "INSERT INTO messages (session_id, turn_id, role, text, visible, created_at) "
                "VALUES (?, '', 'user', ?, 1, ?)",
                session,
                language.text(),
                _NOW.isoformat(),
            )

    await database.transact(fill)
    key = address.session_key("")
    begun_s = time.perf_counter()
    while await database.transact(lambda tx: search.catch_up(tx, key)):
        pass
    return (time.perf_counter() - begun_s) * 1000 / MESSAGES


async def _ask(database: Database, key: str, language: _Language, times: int) -> list[float]:
    estimator, took_ms = Estimator(), list[float]()

    def sent(tx: Tx) -> tuple[Stretch, ...]:
        row = tx.one(
            "SELECT s.id, max(m.id) AS newest FROM sessions AS s JOIN messages AS m "
            "ON m.session_id = s.id WHERE s.session_key = ?",
            key,
        )
        return (Stretch(row["id"], row["newest"] - _SENT),) if row else ()

    stretches = await database.read(sent)
    found = 0
    for _ in range(times):
        said = language.question()
        begun_s = time.thread_time()
        words = choose.useful_words(said)
        hits = await database.read(lambda tx, words=words: fitting(tx, key, stretches, words, _NOW))
        part = choose.reminder([], hits, said, estimator.scale("", ""))
        took_ms.append((time.thread_time() - begun_s) * 1000)
        found += bool(part)
    assert found > times // 2, "most questions find something"
    return took_ms
