"""Changes schedules and stops work where /cron and /jobs are tapped, and shows what is so then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from aouo.commands.registry import CommandCall, Result
from aouo.commands.scheduling import Scheduling
from aouo.commands.working import Jobs
from aouo.facts import taps
from aouo.facts.work import Job
from aouo.flow.handlers.table import Handlers, on
from aouo.flow.replies import Replies
from aouo.queue.running import Running, StopReason
from aouo.store.database import Tx


def schedule_taps(
    replies: Replies, scheduling: Scheduling, jobs: Jobs, running: Running
) -> list[Handlers]:
    """Return the rows of the table of taps."""

    def verb(name: str) -> Callable[[Job, Any], Awaitable[None]]:
        async def obey(job: Job, tap: Any) -> None:
            library = replies.library
            await show(
                job, lambda tx, call: scheduling.tapped(tx, call, library, name, tap.schedule_id)
            )

        return obey

    async def page(job: Job, tap: taps.ShowSchedules) -> None:
        library = replies.library
        await show(job, lambda tx, call: scheduling.listed(tx, call, library, page=tap.page))

    async def stop(job: Job, tap: taps.StopJob) -> None:
        stopped: list[int] = []

        def act(tx: Tx, call: CommandCall) -> Result:
            result, elsewhere = jobs.stop(tx, call, tap.job_id)
            stopped[:] = [elsewhere] if elsewhere else []
            return result

        await show(job, act)
        for job_id in stopped:
            running.stop(job_id, StopReason.PERSON)

    async def show(job: Job, act: Callable[[Tx, CommandCall], Result]) -> None:
        if job.lane.bypasses:
            await replies.begin_tap(job)  # the others were answered when they came in
        await replies.command(job, act, instead_of=job.inbound.message_id)

    return [
        on(taps.SwitchOn, verb("on")),
        on(taps.SwitchOff, verb("off")),
        on(taps.RunSchedule, verb("run")),
        on(taps.AskRemoval, verb("ask")),
        on(taps.RemoveSchedule, verb("remove")),
        on(taps.ShowHistory, verb("history")),
        on(taps.ShowSchedules, page),
        on(taps.StopJob, stop),
    ]
