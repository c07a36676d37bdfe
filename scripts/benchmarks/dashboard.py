"""What the local page costs: a bot without it, one that nobody looks at, one that many look at."""

from __future__ import annotations

import json
import socket
import statistics
import time
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace

from scripts.benchmarks.bots import Aouo
from scripts.benchmarks.figures import Bench, chats
from scripts.benchmarks.processes import ROOT, Process
from scripts.benchmarks.table import Row
from scripts.past import put_past

_TOKEN = "bench"
_PAIRS = 3
_TURNS = 10_000
_PEOPLE = 5
_SIZE = 80
"""Chats of a block, with three turns each."""
_PAGE = ROOT / "aouo" / "dashboard" / "page"


def dashboard(bench: Bench, *, quick: bool) -> list[Row]:
    """The column of the floor is the same bot without the page, or without anybody who looks."""
    return [
        *_unseen(bench, quick=quick),
        *_opened(bench),
        *_turns(bench, quick=quick),
    ]


def _bot(bench: Bench, people: list[int], *, port: int = 0, past: int = 0) -> Aouo:
    """With the page at a port, 0 = without it."""
    page = {"enabled": bool(port), "port": port, "token": _TOKEN}
    bot = bench.aouo(people, model={**bench.settings, "dashboard": page})
    bot.seed((), 0)
    if past:
        put_past(bot.home.database, [(chat, "Ada") for chat in people[:_PEOPLE]], count=past)
    return bot


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def _unseen(bench: Bench, *, quick: bool) -> list[Row]:
    """Start, memory and processor of a page that nobody opens."""
    start: dict[str, list[float]] = {"aouo": [], "floor": []}
    pair = {"aouo": _bot(bench, chats(1), port=_free_port()), "floor": _bot(bench, chats(1))}
    for turn in range(4 if quick else 12):
        for name, bot in sorted(pair.items(), reverse=bool(turn % 2)):  # who is first is slower
            with bench.running(bot) as running:
                if turn:
                    start[name].append(running.start_s)
    rss: dict[str, list[float]] = {"aouo": [], "floor": []}
    cpu: dict[str, list[float]] = {"aouo": [], "floor": []}
    seconds = 8 if quick else 20
    with ExitStack() as stack:
        bots = [
            (name, stack.enter_context(bench.running(_bot(bench, chats(1), port=port))))
            for _ in range(_PAIRS)
            for name, port in (("aouo", _free_port()), ("floor", 0))
        ]
        time.sleep(5)
        before = [one.process.cpu_ms for _, one in bots]
        time.sleep(seconds)
        for (name, one), before_ms in zip(bots, before, strict=True):
            cpu[name].append((one.process.cpu_ms - before_ms) / 10 / seconds)
            rss[name].append(one.process.rss_mb)
    more_mb = statistics.median(rss["aouo"]) - statistics.median(rss["floor"])
    return [
        Row.medians("start → first getUpdates, page : none", "s", start, aim="unchanged", digits=3),
        Row.medians(f"idle CPU over {seconds} s, page : none", "%", cpu, aim="+ 0", digits=3),
        Row("RSS of a page that nobody opens", "MB", more_mb, aim="≤ 1", n=_PAIRS),
    ]


def _opened(bench: Bench) -> list[Row]:
    """What the first window brings in, and how much it reads for that."""
    more_mb = list[float]()
    size = 0
    for _ in range(_PAIRS):
        port = _free_port()
        with bench.running(_bot(bench, chats(1), port=port)) as running:
            time.sleep(5)
            before_mb = running.process.rss_mb
            paths = ["/", "/api/usage?days=30", "/healthz"]
            paths += [f"/page/{one.relative_to(_PAGE)}" for one in sorted(_PAGE.rglob("*.*"))]
            size = sum(len(_read(port, path)) for path in paths)
            time.sleep(1)
            more_mb.append(running.process.rss_mb - before_mb)
    return [
        Row(
            "RSS that the first window adds", "MB", statistics.median(more_mb), aim="≤ 30", n=_PAIRS
        ),
        Row("the whole page, with Usage", "KB", size / 1000, aim="≤ 250", digits=0),
    ]


def _read(port: int, path: str) -> bytes:
    asked = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", headers={"X-Aouo-Token": _TOKEN}
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(asked, timeout=60) as answer:
        return answer.read()


def _turns(bench: Bench, *, quick: bool) -> list[Row]:
    """A turn's own time with and without windows, by turns, over a past of a month. A p99 takes a
    thousand turns; they come as fast as Telegram lets one bot answer."""
    blocks = 1 if quick else 5
    everyone = chats((blocks + 1) * _SIZE)
    ports = {"aouo": _free_port(), "floor": _free_port()}
    bots = {
        name: replace(_bot(bench, everyone, port=port, past=_TURNS), timed=True)
        for name, port in ports.items()
    }
    own: dict[str, list[float]] = {"aouo": [], "floor": []}
    took_ms: dict[str, list[float]] = {}
    with ExitStack() as stack:
        running = {name: stack.enter_context(bench.running(bot)) for name, bot in bots.items()}
        for number in range(blocks + 1):
            block = everyone[number * _SIZE :][:_SIZE]
            for name, one in sorted(running.items(), reverse=bool(number % 2)):
                looked_at = _looked_at(bots[name], ports[name], took_ms)
                with looked_at if name == "aouo" else nullcontext():
                    one.drive(block, apart=True)
                if number:  # the first block warms both
                    own[name] += bots[name].own_ms[-3 * _SIZE :]
    return [
        Row.medians("own time of a turn, five windows look : none", "ms", own),
        Row.percentile("  its p99", "ms", own, 99, aim="≤ 1.1 ×"),
        *_answers(took_ms),
    ]


def _answers(took_ms: dict[str, list[float]]) -> Iterator[Row]:
    for path, found in took_ms.items():
        what = f"{path} over {10 * _TURNS:,} rows"
        median = statistics.median(found)
        yield Row(what, "ms", median, aim="< 300", digits=0, n=len(found))
        yield Row("  slowest", "ms", max(found), digits=0)


@contextmanager
def _looked_at(bot: Aouo, port: int, took_ms: dict[str, list[float]]) -> Generator[None]:
    file = bot.place / "lookers.json"
    address = f"http://127.0.0.1:{port}"
    with Process("-m", "scripts.benchmarks.lookers", address, _TOKEN, str(file)) as lookers:
        lookers.first_line()
        yield
    for path, found in json.loads(file.read_text()).items():
        took_ms.setdefault(path, []).extend(found)
