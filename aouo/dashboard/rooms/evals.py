"""Answers which evals a pack has and how they went, and runs them beside the bot."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aouo.app.lifecycle import Runtime
from aouo.dashboard.access import Shown
from aouo.dashboard.endpoints import Endpoint, NotFound
from aouo.facts.errors import AouoError, Refused
from aouo.facts.ports import Clock, stamp
from aouo.packs.evals import cases
from aouo.packs.evals.cases import Eval
from aouo.packs.evals.checks import EvalResult, StepResult
from aouo.packs.evals.process import run_evals
from aouo.packs.load import Pack
from aouo.plumbing.control import Facts
from aouo.plumbing.logs import log
from aouo.plumbing.waiting import first

_CHARS, _TEXTS, _RESULT_CHARS = 1_000, 20, 50_000
_STOPPED = "It was stopped before its end, so it has no results."


@dataclass(eq=False)
class _EvalRuns:
    """Begins and stops runs, each in a process of its own that gives way to the bot. What it keeps
    is gone with this process."""

    home: Path
    clock: Clock

    def __post_init__(self) -> None:
        self._task: asyncio.Future[None] | None = None
        self._results: dict[tuple[str, str], tuple[str, EvalResult]] = {}
        self._last: dict[str, Facts] = {}
        self._problem = ""
        self.running: Facts | None = None
        """The run that goes on: its pack, how many evals, since when (UTC, as it is stored)."""

    def begin(self, pack: Pack, found: Sequence[Eval], bot: Runtime) -> Facts:
        """Begin a run, which ends with the bot at the latest. Raises: Refused, while one runs."""
        if self.running:
            raise Refused(
                f"Evals of {self.running['pack']} run already: wait for them or stop them."
            )
        since = stamp(self.clock)
        self.running = {"pack": pack.name, "evals": len(found), "since": since}
        self._problem = _STOPPED
        self._task = asyncio.ensure_future(  # one run outlives the request that began it
            self._run(pack, [each.file for each in found], bot)
        )
        self._task.add_done_callback(lambda _: self._end(pack.name))
        return self.running

    async def stop(self, pack: str) -> None:
        """End the run of a pack's evals. Raises: Refused, if there is none."""
        if self._task is None or self.running is None or self.running["pack"] != pack:
            raise Refused(f"No eval of {pack} runs.")
        self._task.cancel()
        await asyncio.wait([self._task])

    def last(self, pack: str) -> Facts | None:
        """Return when the last run of a pack's evals ended, and why it has no results, "" = it has
        some; None = none has ended yet."""
        return self._last.get(pack)

    def result(self, pack: str, file: str) -> tuple[str, EvalResult] | None:
        """Return when an eval ended last, and how; None = it has not yet."""
        return self._results.get((pack, file))

    async def _run(self, pack: Pack, files: Sequence[str], bot: Runtime) -> None:
        await first(self._play(pack, files), bot.ended.wait())

    async def _play(self, pack: Pack, files: Sequence[str]) -> None:
        try:
            results = await run_evals(pack.folder, pack=pack.name, files=files, home=self.home)
            ended = stamp(self.clock)
            self._results |= {(pack.name, one.file): (ended, _cut(one)) for one in results}
            self._problem = ""
        except AouoError as error:
            self._problem = str(error)
        except Exception as error:
            log.exception("evals_broke", pack=pack.name, error=repr(error))
            self._problem = "They could not be run. The log says why."

    def _end(self, pack: str) -> None:
        self.running = None
        self._last[pack] = {"at": stamp(self.clock), "problem": self._problem}


def _cut(result: EvalResult) -> EvalResult:
    """Return a result without what is too much to be kept; what is wrong is kept first."""
    left, steps = _RESULT_CHARS, list[StepResult]()
    for step in reversed(result.steps):
        steps.append(
            replace(
                step,
                did=_cut_texts([step.did])[0],
                wrong=_cut_texts(step.wrong),
                said=_cut_texts(step.said) if left > 0 else (),
                buttons=_cut_texts(step.buttons) if left > 0 else (),
                calls=_cut_texts(step.calls) if left > 0 else (),
                rows=_cut_texts(step.rows) if left > 0 else (),
            )
        )
        left -= sum(map(len, (*steps[-1].said, *steps[-1].calls, *steps[-1].rows)))
    return replace(result, steps=tuple(reversed(steps)))


def _cut_texts(texts: Sequence[str]) -> tuple[str, ...]:
    more = (f"… and {len(texts) - _TEXTS} more",) if len(texts) > _TEXTS else ()
    short = (text if len(text) <= _CHARS else f"{text[:_CHARS]}…" for text in texts[:_TEXTS])
    return (*short, *more)


_REAL = "asks your own model, which costs money: only `aouo pack test --real` runs it"


def evals(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints about evals."""
    room = _Room(shown)
    return (
        Endpoint("GET", "/api/evals", room.running),
        Endpoint("GET", "/api/packs/{pack}/evals", room.listed),
        Endpoint("POST", "/api/packs/{pack}/evals/run", room.run, body=True),
        Endpoint("POST", "/api/packs/{pack}/evals/stop", room.stop),
    )


@dataclass(eq=False)
class _Room:
    shown: Shown

    def __post_init__(self) -> None:
        self._runs = _EvalRuns(self.shown.home.path, self.shown.clock)

    async def running(self) -> Facts:
        """The run of evals that goes on, or null."""
        return {"running": self._runs.running}

    async def listed(self, pack: str) -> Facts:
        """A pack's evals, and how each ended since the bot was started."""
        one = self.shown.pack(pack)
        there, problems = await asyncio.to_thread(cases.load, one.folder)
        last = self._runs.last(one.name)
        return {
            **await self.running(),
            "evals": [self._told(one.name, each) for each in there],
            "problems": problems,
            "last": last,
        }

    async def run(self, pack: str, name: str = "") -> Facts:
        """Begin to run a pack's evals with a scripted model, in a process of its own.

        `name` is that of the evals to run, "" = all of the pack.
        """
        bot, one = self.shown.bot, self.shown.pack(pack)
        there, _ = await asyncio.to_thread(cases.load, one.folder)
        wanted = [each for each in there if name in ("", each.name)]
        if not wanted and name:
            raise NotFound(f"There is no eval {name!r} in {one.name}.")
        scripted = [each for each in wanted if each.model == "scripted"]
        if not wanted:
            raise Refused(f"{one.name} has no eval that can be run.")
        if not scripted:
            raise Refused(f"“{wanted[0].name}” {_REAL}.")
        return self._runs.begin(one, scripted, bot)

    async def stop(self, pack: str) -> Facts:
        """Stop the run of a pack's evals."""
        await self._runs.stop(pack)
        return await self.running()

    def _told(self, pack: str, each: Eval) -> Facts:
        ended = self._runs.result(pack, each.file)
        return {
            "name": each.name,
            "file": each.file,
            "language": each.language,
            "steps": len(each.steps),
            "not_run": _REAL if each.model == "real" else "",
            "at": ended[0] if ended else "",
            "result": ended[1] if ended else None,
        }
