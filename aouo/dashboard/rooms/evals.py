"""Answers which evals a pack has and how they went, and runs them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from aouo.dashboard.endpoints import Endpoint, NotFound
from aouo.dashboard.eval_runs import EvalRuns
from aouo.dashboard.shown import Shown
from aouo.facts.errors import Refused
from aouo.packs.evals import cases
from aouo.packs.evals.cases import Eval
from aouo.plumbing.verbs import Facts

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
        self._runs = EvalRuns(self.shown.home.path, self.shown.clock)

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
