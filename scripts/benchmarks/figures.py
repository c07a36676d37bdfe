"""The figures: each a function that runs both bots, interleaved, and returns rows."""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from scripts.benchmarks.bots import ANSWER, Aouo, Bot, Floor
from scripts.benchmarks.counted import since
from scripts.benchmarks.processes import Drive, Process, Telegram
from scripts.benchmarks.table import Row

_EACH = 3  # per chat: Telegram lets a chat have that many at once, so no pacing is measured
_FIRST_CHAT = 1_000_000
_TOOLS = 20
SERVICE, MODEL = "vllm", "mistralai/Ministral-3-14B-Instruct-2512"
"""It neither thinks nor has limits, so that nothing but the bots is measured."""
_PROCESS = ("--profile", SERVICE, "--model", MODEL)
_STILL_MS, _STILL_TIMES = 5, 6
_TURN_AIM = "≤ 5, ≤ 2 × floor"


class Bench:
    """The two servers, and a folder for the homes of the bots."""

    def __init__(self, folder: Path, telegram: Telegram, model: Process) -> None:
        self._folder = folder
        self.telegram = telegram
        self._model = model
        self.settings: dict[str, Any] = model.first_line()["settings"]
        self._places = itertools.count(1)

    def aouo(
        self,
        chats: Sequence[int],
        *,
        history: int = 200,
        model: Mapping[str, Any] | None = None,
        streaming: str = "",
        tools: int = 0,
        paced: bool = True,
        counted: bool = False,
    ) -> Aouo:
        return Aouo(
            self._folder / f"home{next(self._places)}",
            self.telegram.url,
            model or self.settings,
            chats,
            history,
            streaming or "edits",
            tools,
            paced,
            counted=self._file() if counted else None,
        )

    def elsewhere(self, telegram_url: str, model: Mapping[str, Any], chats: Sequence[int]) -> Aouo:
        """Ours on another Telegram than the one that all figures share."""
        return Aouo(self._folder / f"home{next(self._places)}", telegram_url, model, chats)

    def floor(
        self,
        *,
        history: int = 200,
        name: Literal["floor", "floor 2"] = "floor",
        counted: bool = False,
    ) -> Floor:
        place = self._folder / f"floor{next(self._places)}"
        file = self._file() if counted else None
        return Floor(place, self.telegram.url, self.settings, history, name, file)

    def floors(self, *, history: int = 200, counted: bool = False) -> list[Floor]:
        """Both."""
        return [
            self.floor(history=history, name=name, counted=counted) for name in ("floor", "floor 2")
        ]

    def _file(self) -> Path:
        return self._folder / f"counts{next(self._places)}"

    @property
    def servers_cpu_ms(self) -> float:
        """What the other side costs, on the same cores."""
        return self.telegram.cpu_ms + self._model.cpu_ms

    @contextmanager
    def running(self, bot: Bot) -> Generator[Running]:
        """Start a bot and wait until it polls."""
        token = self.telegram.new_token()
        with bot.start(token) as process:
            first = self.telegram.first_poll(token)
            yield Running(self, bot.name, token, process, first["at_s"], first["timeout"])


@dataclass(frozen=True)
class Running:
    """One bot at work."""

    bench: Bench
    name: str
    token: str
    process: Process
    polled_s: float
    first_timeout_s: float

    @property
    def start_s(self) -> float:
        return self.polled_s - self.process.started_s

    def drive(
        self, chats: Sequence[int], *, apart: bool, text: str = "", each: int = _EACH
    ) -> Drive:
        pid = self.process.pid if apart else 0
        return self.bench.telegram.drive(
            self.token, chats, each=each, apart=apart, text=text, pid=pid
        )

    def settle(self) -> None:
        """Wait until nothing is done any more that was left of turns: titles, the index."""
        still = 0
        for _ in range(120):
            before_ms = self.process.cpu_ms
            time.sleep(0.5)
            still = still + 1 if self.process.cpu_ms - before_ms < _STILL_MS else 0
            if still == _STILL_TIMES:
                return


@contextmanager
def bench() -> Generator[Bench]:
    """Start the servers that all figures share."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="aouo-bench-")))
        telegram = stack.enter_context(Telegram(ANSWER))
        model = stack.enter_context(
            Process("-m", "tests.fakes.models", *_PROCESS, "--answer", ANSWER, "--chunks", "18")
        )
        yield Bench(folder, telegram, model)


def chats(count: int, first: int = 0) -> list[int]:
    return list(range(_FIRST_CHAT + first, _FIRST_CHAT + first + count))


def start(bench: Bench, *, quick: bool) -> list[Row]:
    """From the process's birth to its first getUpdates; the first round warms bytecode and disk."""
    bots: list[Bot] = [bench.aouo(chats(1)), *bench.floors()]
    seconds: dict[str, list[float]] = {bot.name: [] for bot in bots}
    cpu_ms: dict[str, list[float]] = {bot.name: [] for bot in bots}
    timeouts: set[float] = set()
    for turn in range(4 if quick else 8):
        for bot in bots:
            with bench.running(bot) as running:
                cpu = running.process.cpu_ms
            if turn:
                seconds[bot.name].append(running.start_s)
                cpu_ms[bot.name].append(cpu)
                timeouts.add(running.first_timeout_s)
    assert timeouts == {0}, "the first getUpdates has to ask with timeout 0"
    return [
        Row.medians("start → first getUpdates", "s", seconds, aim="≤ 0.6", digits=3),
        Row.medians("  CPU until then", "ms", cpu_ms, digits=0),
    ]


def idle(bench: Bench, *, quick: bool) -> list[Row]:
    """Memory and CPU of a bot that nobody talks to, then memory after 200 turns."""
    seconds = 8 if quick else 20
    turns = chats(34 if quick else 67)
    rss: dict[str, list[float]] = {}
    after: dict[str, list[float]] = {}
    cpu: dict[str, list[float]] = {}
    threads: dict[str, list[float]] = {}
    with ExitStack() as stack:
        bots: list[Bot] = [bench.aouo(turns), bench.floor()]
        running = [stack.enter_context(bench.running(bot)) for bot in bots]
        time.sleep(5)
        before_ms = [one.process.cpu_ms for one in running]
        for one in running:
            rss[one.name] = [one.process.rss_mb]
            threads[one.name] = [one.process.threads]
        time.sleep(seconds)
        for one, before in zip(running, before_ms, strict=True):
            cpu[one.name] = [(one.process.cpu_ms - before) / 10 / seconds]
        for one in running:
            one.drive(turns, apart=True)
            after[one.name] = [one.process.rss_mb]
    return [
        Row.medians("idle RSS after 5 s", "MB", rss, aim="≤ 60", digits=1),
        Row.medians(f"RSS after {3 * len(turns)} turns", "MB", after, digits=1),
        Row.medians(f"idle CPU over {seconds} s", "%", cpu, aim="≤ 0.2", digits=3),
        Row.medians("threads", "", threads, digits=0),
    ]


def turn(bench: Bench, *, quick: bool) -> list[Row]:
    """One turn after the other, each in a settled chat with 200 messages of history; 20 tools more
    than our own are registered and shown to the model, the floors have none."""
    blocks, size = (4, 8) if quick else (6, 20)
    everyone = chats(size)
    cpu: dict[str, list[float]] = {}
    total: dict[str, list[float]] = {}
    latency: dict[str, list[float]] = {}
    first: dict[str, list[float]] = {}
    with ExitStack() as stack:
        seeded = _seeded(bench, everyone, 200, tools=_TOOLS, floors=2)
        running = [stack.enter_context(one) for one in seeded]
        for one in running:
            time.sleep(2)
            first[one.name] = one.drive(everyone[:1], apart=True, each=1).latency_ms
            one.drive(everyone, apart=True)
            one.settle()
        for _ in range(blocks):
            for one in running:
                before_ms = one.process.cpu_ms
                driven = one.drive(everyone, apart=True)
                cpu.setdefault(one.name, []).extend(driven.cpu_ms)
                latency.setdefault(one.name, []).extend(driven.latency_ms)
                spent_ms = one.process.cpu_ms - before_ms
                total.setdefault(one.name, []).append(spent_ms / driven.answered)
    times = {name: [ms[0] / statistics.median(latency[name])] for name, ms in first.items()}
    return [
        Row.medians(f"CPU per turn, history 200, {_TOOLS} tools", "ms", cpu, aim=_TURN_AIM),
        Row.medians("  its mean over blocks", "ms", total),
        Row.medians("update → answer, median", "ms", latency),
        Row.percentile("update → answer, p95", "ms", latency, 95),
        Row.medians("  the first turn since the start", "ms", first),
        Row.medians("  over the median", "×", times, aim="≤ 3"),
    ]


def counts(bench: Bench, *, quick: bool) -> list[Row]:
    """What a start and a turn do, counted: the same on every machine."""
    everyone = chats(8)
    found: dict[str, list[dict[str, int]]] = {}
    at_start: dict[str, dict[str, int]] = {}
    bots: list[Bot] = [
        bench.aouo(everyone, counted=True),
        *bench.floors(counted=True),
    ]
    for bot in bots:
        bot.seed(everyone, 200)
        with bench.running(bot) as one:
            at_start[bot.name] = bot.counts.now()
            one.drive(everyone, apart=True)
            one.settle()
            with bot.counts.keep_log():
                for chat in everyone[: 4 if quick else 8]:
                    before = bot.counts.now()
                    one.drive([chat], apart=True)
                    one.settle()
                    found.setdefault(bot.name, []).append(since(before, bot.counts.now()))
    rows = [
        Row.medians(
            f"{name} at the first poll",
            "",
            {bot: [float(counted[name])] for bot, counted in at_start.items()},
            digits=0,
        )
        for name in ("modules", "ours")
    ]
    names = [name for name in found["aouo"][0] if name not in ("modules", "ours")]
    return rows + [
        Row.medians(
            f"{name} a turn",
            "",
            {bot: [each[name] / _EACH for each in turns] for bot, turns in found.items()},
            digits=1,
        )
        for name in names
    ]


def history(bench: Bench, *, quick: bool) -> list[Row]:
    """Does a long past make a turn dearer? Short and long ones by turns, in the same minute; what
    a chat's first turn since the start costs, which reads its past from the file, stands apart."""
    size = 16 if quick else 40
    everyone = chats(2 * size)
    lengths = (10, 400)
    cpu: dict[int, dict[str, list[float]]] = {length: {} for length in lengths}
    first: dict[int, dict[str, list[float]]] = {length: {} for length in lengths}
    latency: dict[int, dict[str, list[float]]] = {length: {} for length in lengths}
    with ExitStack() as stack:
        running = [
            (length, stack.enter_context(one))
            for length in lengths
            for one in _seeded(bench, everyone, length)
        ]
        for start in range(0, len(everyone), size // 2):
            block = everyone[start:][: size // 2]
            for length, one in running:
                driven = one.drive(block, apart=True)
                if start:
                    first[length].setdefault(one.name, []).extend(driven.cpu_ms[: len(block)])
                    cpu[length].setdefault(one.name, []).extend(driven.cpu_ms[len(block) :])
                    latency[length].setdefault(one.name, []).extend(driven.latency_ms)
    rows: list[Row] = []
    for length in lengths:
        rows.append(Row.medians(f"CPU per turn, history {length}", "ms", cpu[length]))
        rows.append(Row.medians("  of a chat's first turn since the start", "ms", first[length]))
        rows.append(Row.medians(f"update → answer, history {length}", "ms", latency[length]))
    return [*rows, Row.growth("CPU per turn, history 400 over 10", cpu[10], cpu[400], aim="≤ 1.1")]


def _seeded(
    bench: Bench, everyone: Sequence[int], messages: int, *, tools: int = 0, floors: int = 1
) -> list[AbstractContextManager[Running]]:
    bots: list[Bot] = [
        bench.aouo(everyone, history=messages, tools=tools),
        *bench.floors(history=messages)[:floors],
    ]
    for bot in bots:
        bot.seed(everyone, messages)
    return [bench.running(bot) for bot in bots]


def throughput(bench: Bench, *, quick: bool) -> list[Row]:
    """200 conversations say three things each, all at once; each bot begins anew every round."""
    everyone = chats(200)
    rate: dict[str, list[float]] = {}
    cpu: dict[str, list[float]] = {}
    calls: dict[str, list[float]] = {}
    latency: dict[str, list[float]] = {}
    servers: dict[str, list[float]] = {}
    for _ in range(1 if quick else 3):
        bots: list[Bot] = [bench.aouo([*everyone, *chats(1, 900)], paced=False), bench.floor()]
        for bot in bots:
            with bench.running(bot) as one:
                one.drive(chats(1, 900), apart=True)
                before_ms, servers_ms = one.process.cpu_ms, bench.servers_cpu_ms
                driven = one.drive(everyone, apart=False)
                spent_ms = one.process.cpu_ms - before_ms
                servers_ms = bench.servers_cpu_ms - servers_ms
            assert driven.answered == _EACH * len(everyone), "a message has no answer"
            assert not driven.twice, "a message was answered twice"
            rate.setdefault(one.name, []).append(driven.answered / driven.wall_s)
            cpu.setdefault(one.name, []).append(spent_ms / driven.answered)
            servers.setdefault(one.name, []).append(servers_ms / driven.answered)
            calls.setdefault(one.name, []).append(sum(driven.calls.values()) / driven.answered)
            latency.setdefault(one.name, []).extend(driven.latency_ms)
    return [
        Row.medians("turns/s, 200 conversations", "/s", rate, aim="≥ 150", digits=0),
        Row.medians("  CPU per turn in it", "ms", cpu),
        Row.medians("  calls to Telegram per turn", "", calls),
        Row.medians("  the servers' CPU per turn", "ms", servers),
        Row.medians("  update → answer, median", "ms", latency, digits=0),
    ]
