"""What schedules cost that are not due, and how late those are met that are."""

from __future__ import annotations

import sqlite3
import statistics
import time
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import iso
from aouo.facts.work import Scheduled
from aouo.store import schedules
from aouo.store.database import Tx, connect
from scripts.benchmarks.bots import Aouo
from scripts.benchmarks.figures import Bench, chats
from scripts.benchmarks.table import Row

_COUNT = 1_000
_PAIRS = 3
_FIRINGS = 50
_APART_S = 0.4
_FIRST_S = 10.0
"""After the bot is started: it has polled, and loaded all it needs, by then."""
_WAIT_S = 60.0


def scheduled(bench: Bench, *, quick: bool) -> list[Row]:
    """The column of the floor is the same bot without schedules."""
    return [*_start(bench, quick=quick), *_idle(bench, quick=quick), *_late(bench)]


def _pair(bench: Bench) -> dict[str, Aouo]:
    """One bot with schedules that are due in an hour, one without any."""
    made = {"aouo": bench.aouo(chats(1)), "floor": bench.aouo(chats(1))}
    for name, bot in made.items():
        bot.seed((), 0)
        if name == "aouo":
            _put(bot, [3600.0 + number for number in range(_COUNT)])
    return made


def _put(bot: Aouo, due_in_s: list[float]) -> None:
    now = datetime.now(UTC)  # noqa: TID251 - the measured process goes by the real clock
    with closing(connect(bot.home.database)) as connection:
        connection.execute("BEGIN")
        for seconds in due_in_s:
            due = iso(now + timedelta(seconds=seconds))
            schedules.add(Tx(connection), _reminder(bot.chats[0], due, iso(now)), iso(now))
        connection.execute("COMMIT")


def _reminder(chat: int, due: str, now: str) -> Scheduled:
    return Scheduled(
        id=schedules.new_id(),
        pack="notes",
        key="",
        origin="person",
        address=ConversationAddress("tg", str(chat)),
        chat_kind="private",
        person=str(chat),
        skill="",
        prompt="Remind me of the bees",
        text=due,
        zone="UTC",
        since=now,
        enabled=True,
        paused="",
        next_due=due,
        name="bees",
    )


def _start(bench: Bench, *, quick: bool) -> list[Row]:
    seconds: dict[str, list[float]] = {"aouo": [], "floor": []}
    pair = _pair(bench)
    for turn in range(4 if quick else 8):
        for name, bot in sorted(pair.items(), reverse=bool(turn % 2)):  # who is first is slower
            with bench.running(bot) as running:
                if turn:
                    seconds[name].append(running.start_s)
    figure = f"start → first getUpdates, {_COUNT:,} schedules : none"
    return [Row.medians(figure, "s", seconds, aim="unchanged", digits=3)]


def _idle(bench: Bench, *, quick: bool) -> list[Row]:
    """Long enough for the longest sleep of the clock that fires them, `cron.tick_seconds`."""
    seconds = 10 if quick else 130
    cpu: dict[str, list[float]] = {"aouo": [], "floor": []}
    rss: dict[str, list[float]] = {"aouo": [], "floor": []}
    with ExitStack() as stack:
        running = [
            (name, stack.enter_context(bench.running(bot)))
            for _ in range(_PAIRS)
            for name, bot in _pair(bench).items()
        ]
        time.sleep(5)
        before = [one.process.cpu_ms for _, one in running]
        time.sleep(seconds)
        for (name, one), before_ms in zip(running, before, strict=True):
            cpu[name].append((one.process.cpu_ms - before_ms) / 10 / seconds)
            rss[name].append(one.process.rss_mb)
    what = f"{_COUNT:,} schedules : none"
    more_mb = statistics.median(rss["aouo"]) - statistics.median(rss["floor"])
    return [
        Row.medians(f"idle CPU over {seconds} s, {what}", "%", cpu, aim="+ ≤ 0.1", digits=3),
        Row.medians(f"idle RSS, {what}", "MB", rss, aim="+ ≤ 2", digits=1),
        Row("  difference", "MB", more_mb, aim="≤ 2", digits=2),
    ]


def _late(bench: Bench) -> list[Row]:
    """From a due time to the transaction that files its run, and that ends it."""
    bot = bench.aouo(chats(1))
    bot.seed((), 0)
    with bench.running(bot):
        time.sleep(_FIRST_S / 2)
    _put(bot, [_FIRST_S + _APART_S * number for number in range(_FIRINGS)])
    with bench.running(bot):
        rows = _runs(bot)
    fired = [_ms(row["due_at"], row["created_at"]) for row in rows]
    done = [_ms(row["due_at"], row["settled_at"]) for row in rows]
    count = len(rows)
    return [
        Row("due → fired, median", "ms", statistics.median(fired), digits=1, n=count),
        Row("  latest of them", "ms", max(fired), aim="≤ 1,000", digits=1, n=count),
        Row("due → its turn has ended, median", "ms", statistics.median(done), digits=1, n=count),
        Row("  latest of them", "ms", max(done), digits=1, n=count),
    ]


def _runs(bot: Aouo) -> list[sqlite3.Row]:
    """Wait until all have run."""
    with closing(sqlite3.connect(f"file:{bot.home.database}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        until_s = time.monotonic() + _FIRST_S + _APART_S * _FIRINGS + _WAIT_S
        while time.monotonic() < until_s:
            rows = connection.execute("SELECT * FROM schedule_runs WHERE settled_at <> ''")
            if len(found := rows.fetchall()) == _FIRINGS:
                return found
            time.sleep(0.5)
    raise TimeoutError("schedules were not run")


def _ms(due_at: str, then: str) -> float:
    late = datetime.fromisoformat(then) - datetime.fromisoformat(due_at)
    return late.total_seconds() * 1000
