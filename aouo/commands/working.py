"""Handles /jobs and its buttons: what is at work, what comes next, and stopping it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from aouo.commands.registry import CommandCall, Result
from aouo.facts.events import Inbound
from aouo.facts.ports import Rendered
from aouo.facts.schedule import ZoneOf
from aouo.facts.work import Working
from aouo.packs.library import Library
from aouo.store import at_work, jobs, kept_reports, schedules
from aouo.store.database import Tx
from aouo.words import schedules as words

_UPCOMING = 5


@dataclass(slots=True, eq=False)
class Jobs:
    """Tells what is at work in a conversation; the owner in private reads of all of them."""

    zone_of: ZoneOf
    is_owner: Callable[[Inbound], bool]

    def obey(self, tx: Tx, call: CommandCall, library: Library) -> Result:
        """`/jobs`, and `/jobs stop ID`."""
        del library
        match call.words.args:
            case ("stop", number) if number.isdecimal():
                return self._stop(tx, call, int(number[:18]))
            case _:
                return Result(self._shown(tx, call))

    def _stop(self, tx: Tx, call: CommandCall, job_id: int) -> Result:
        """Have a job at work end without an answer; its person and the owner may."""
        work = next((work for work in self._seen(tx, call) if work.id == job_id), None)
        if work is None:
            return Result(self._shown(tx, call, "over"))
        if not self._may_stop(call, work):
            return Result(self._shown(tx, call, "not-yours"))
        jobs.stop(tx, job_id)
        shown = self._shown(tx, call, "stopped", without=job_id)
        if work.lane == call.inbound.address.lane:
            return Result(shown, stopped=job_id)
        return Result(shown, stopped_elsewhere=job_id)

    def _shown(
        self,
        tx: Tx,
        call: CommandCall,
        asked: Literal["", "stopped", "over", "not-yours"] = "",
        *,
        without: int = 0,
    ) -> Rendered:
        address = call.inbound.address
        works = [work for work in self._seen(tx, call) if work.id != without]
        rows = [row for row in schedules.of_conversation(tx, address) if row.next_due]
        rows.sort(key=lambda row: row.next_due)
        kept, until = kept_reports.waiting(tx, address)
        return words.at_work(
            works,
            {work.id for work in works if self._may_stop(call, work)},
            rows[:_UPCOMING],
            self.zone_of,
            here=address,
            asked=asked,
            waiting=at_work.count_waiting(tx, address),
            kept=kept,
            until=until,
        )

    def _seen(self, tx: Tx, call: CommandCall) -> list[Working]:
        """Return the jobs at work that whoever asks may know of, but for this one."""
        here = call.inbound.address
        everything = self.is_owner(call.inbound) and call.inbound.chat_kind == "private"
        return [
            work
            for work in at_work.running(tx)
            if work.id != call.job and (everything or work.inbound.address == here)
        ]

    def _may_stop(self, call: CommandCall, work: Working) -> bool:
        return work.inbound.person.id == call.inbound.person.id or self.is_owner(call.inbound)
