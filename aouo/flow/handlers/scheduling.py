"""Changes schedules and stops work where /cron and /jobs are tapped, and shows what is so then."""

from __future__ import annotations

from collections.abc import Callable

from aouo.commands.registry import CommandCall, Result
from aouo.commands.scheduling import Scheduling
from aouo.commands.working import Jobs
from aouo.facts import taps
from aouo.facts.work import Job
from aouo.flow.handlers.table import Handlers, on
from aouo.flow.replies import Replies
from aouo.queue.running import Running, StopReason
from aouo.store.database import Tx


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
            on(taps.RunSchedule, self._run),
            on(taps.AskRemoval, self._ask_removal),
            on(taps.RemoveSchedule, self._remove),
            on(taps.ShowHistory, self._history),
            on(taps.ShowSchedules, self._page),
            on(taps.StopJob, self._stop),
        ]

    async def _switch(self, job: Job, tap: taps.SwitchOn | taps.SwitchOff) -> None:
        act, library = self._scheduling.switched, self._replies.library
        switch_on = isinstance(tap, taps.SwitchOn)
        await self._show(
            job, lambda tx, call: act(tx, call, library, tap.schedule_id, on=switch_on)
        )

    async def _run(self, job: Job, tap: taps.RunSchedule) -> None:
        act, library = self._scheduling.ran, self._replies.library
        await self._show(job, lambda tx, call: act(tx, call, library, tap.schedule_id))

    async def _ask_removal(self, job: Job, tap: taps.AskRemoval) -> None:
        act, library = self._scheduling.ask_removal, self._replies.library
        await self._show(job, lambda tx, call: act(tx, call, library, tap.schedule_id))

    async def _remove(self, job: Job, tap: taps.RemoveSchedule) -> None:
        act, library = self._scheduling.removed, self._replies.library
        await self._show(job, lambda tx, call: act(tx, call, library, tap.schedule_id))

    async def _history(self, job: Job, tap: taps.ShowHistory) -> None:
        act, library = self._scheduling.history, self._replies.library
        await self._show(job, lambda tx, call: act(tx, call, library, tap.schedule_id))

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
