"""Runs evals of a pack beside the bot, one run at a time, and keeps the last results in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from aouo.app.lifecycle import Runtime
from aouo.facts.errors import AouoError, Refused
from aouo.facts.ports import Clock, stamp
from aouo.packs.evals.cases import Eval
from aouo.packs.evals.process import run_evals
from aouo.packs.evals.results import EvalResult, StepResult
from aouo.packs.load import Pack
from aouo.plumbing.first import first
from aouo.plumbing.verbs import Facts

log = structlog.get_logger()
_CHARS, _TEXTS, _RESULT_CHARS = 1_000, 20, 50_000
_STOPPED = "It was stopped before its end, so it has no results."


@dataclass(eq=False)
class EvalRuns:
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
