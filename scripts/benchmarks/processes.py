"""Processes that a benchmark starts, what they cost, and their certain end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parents[2]
_END_S = 10.0


def environment() -> dict[str, str]:
    """Ours, without what would change a measured program."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AOUO_", "PYTHON")) and not name.lower().endswith("_proxy")
    }
    return kept | {"PYTHONPATH": str(Path(__file__).parent / "hidden")}


class Process:
    """A child that runs `python ARGUMENTS`; ended with its block."""

    def __init__(self, *arguments: str, log: Path | None = None) -> None:
        self._log = log.open("ab") if log else None
        self.started_s = time.monotonic()
        self._popen = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log or subprocess.DEVNULL,
        )

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def cpu_ms(self) -> float:
        """CPU time of all its threads so far."""
        return cpu_s(self.pid) * 1000

    @property
    def rss_mb(self) -> float:
        return rss_mb(self.pid)

    @property
    def threads(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/task").iterdir()))

    def first_line(self) -> dict[str, Any]:
        """The JSON object that a server prints when it listens."""
        assert self._popen.stdout is not None
        return json.loads(self._popen.stdout.readline())

    def end(self) -> None:
        """Ask it to stop, then make it."""
        if self._popen.poll() is None:
            self._popen.terminate()
            try:
                self._popen.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._popen.kill()
                self._popen.wait()
        if self._popen.stdout:
            self._popen.stdout.close()
        if self._log:
            self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()


def cpu_s(pid: int) -> float:
    """CPU seconds of a process, all threads, the ended ones too, in nanoseconds' resolution.

    Source: clock_getcpuclockid(3); the kernel's MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED).
    """
    return time.clock_gettime((~pid << 3) | 2)


def rss_mb(pid: int | str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


@dataclass(frozen=True)
class Drive:
    """What came of a number of messages: one latency a turn, the bot's CPU a turn if asked."""

    wall_s: float
    answered: int
    twice: int
    calls: dict[str, int]
    latency_ms: list[float]
    cpu_ms: list[float]


class Telegram:
    """The control side of `telegram_server`, which runs in a process of its own."""

    def __init__(self, answer: str) -> None:
        self._process = Process("-m", "scripts.benchmarks.telegram_server", "--answer", answer)
        self.url = str(self._process.first_line()["url"])
        self._tokens = 0

    def new_token(self) -> str:
        """A bot of its own: the server keeps each one's updates apart."""
        self._tokens += 1
        return f"{100_000 + self._tokens}:{'A' * 35}"

    def first_poll(self, token: str) -> dict[str, Any]:
        """When the first getUpdates was received, by the machine's monotonic clock."""
        return self._ask("first", {"token": token})

    def drive(
        self,
        token: str,
        chats: Sequence[int],
        *,
        each: int,
        apart: bool,
        text: str = "",
        pid: int = 0,
    ) -> Drive:
        """Say `each` messages in each chat: one after the other's answer, or all at once."""
        wanted = {"token": token, "chats": list(chats), "each": each, "apart": apart}
        return Drive(**self._ask("drive", wanted | {"text": text, "pid": pid}))

    @property
    def cpu_ms(self) -> float:
        return self._process.cpu_ms

    def _ask(self, what: str, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(
            f"{self.url}/control/{what}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=300) as response:
            return json.load(response)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.end()
