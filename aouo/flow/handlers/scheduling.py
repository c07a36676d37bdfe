"""Changes schedules and stops work where /cron and /jobs are tapped, and shows what is so then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from aouo.commands.registry import CommandCall, Result
from aouo.commands.scheduling import Scheduling
from aouo.commands.working import Jobs
from aouo.facts import taps
from aouo.facts.work import Job
from aouo.flow.handlers.table import Handlers, on
from aouo.flow.replies import Replies
from aouo.packs.library import Library
from aouo.queue.running import Running, StopReason
from aouo.store.database import Tx

_OfOne: TypeAlias = taps.RunSchedule | taps.AskRemoval | taps.RemoveSchedule | taps.ShowHistory
_Act: TypeAlias = Callable[[Tx, CommandCall, Library, str], Result]


class ScheduleTaps:
    """Changes and shows schedules, and stops what is at work."""

    def __init__(
        self, replies: Replies, scheduling: Scheduling, jobs: Jobs, running: Running
    ) -> None:
        self._replies = replies
        self._scheduling = scheduling
        self._jobs = jobs
        self._running = running

    @property
    def rows(self) -> list[Handlers]:
        """The rows of the table of taps."""
        return [
            on(taps.SwitchOn, self._switch),
            on(taps.SwitchOff, self._switch),
            on(taps.RunSchedule, self._by_id(self._scheduling.ran)),
            on(taps.AskRemoval, self._by_id(self._scheduling.ask_removal)),
            on(taps.RemoveSchedule, self._by_id(self._scheduling.removed)),
            on(taps.ShowHistory, self._by_id(self._scheduling.history)),
            on(taps.ShowSchedules, self._page),
            on(taps.StopJob, self._stop),
        ]

    async def _switch(self, job: Job, tap: taps.SwitchOn | taps.SwitchOff) -> None:
        act, library = self._scheduling.switched, self._replies.library
        switch_on = isinstance(tap, taps.SwitchOn)
        await self._show(
            job, lambda tx, call: act(tx, call, library, tap.schedule_id, on=switch_on)
        )

    def _by_id(self, act: _Act) -> Callable[[Job, _OfOne], Awaitable[None]]:
        async def obey(job: Job, tap: _OfOne) -> None:
            library = self._replies.library
            await self._show(job, lambda tx, call: act(tx, call, library, tap.schedule_id))

        return obey

    async def _page(self, job: Job, tap: taps.ShowSchedules) -> None:
        act, library = self._scheduling.listed, self._replies.library
        await self._show(job, lambda tx, call: act(tx, call, library, page=tap.page))

    async def _stop(self, job: Job, tap: taps.StopJob) -> None:
        stopped: list[int] = []

        def stop(tx: Tx, call: CommandCall) -> Result:
            result, elsewhere = self._jobs.stop(tx, call, tap.job_id)
            stopped[:] = [elsewhere] if elsewhere else []
            return result

        await self._show(job, stop)
        for job_id in stopped:
            self._running.stop(job_id, StopReason.PERSON)

    async def _show(self, job: Job, act: Callable[[Tx, CommandCall], Result]) -> None:
        if job.lane.bypasses:
            await self._replies.begin_tap(job)  # the others were answered when they came in
        await self._replies.command(job, act, instead_of=job.inbound.message_id)
