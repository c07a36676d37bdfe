"""Handles /jobs and its buttons: what is at work, what comes next, and stopping it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Literal

from aouo.commands.registry import CommandCall, Result
from aouo.facts.events import Inbound, Report, Triggered
from aouo.facts.notices_schedules import AtWork, WorkLine
from aouo.facts.schedule_words import moment_in_words
from aouo.facts.work import Working
from aouo.packs.library import Library
from aouo.store import at_work, jobs, kept_reports, schedules
from aouo.store.database import Tx
from aouo.triggers.scheduling import ZoneOf
from aouo.triggers.ticking import name_of

_UPCOMING = 5


class Jobs:
    """Tells what is at work in a conversation; the owner in private reads of all of them."""

    def __init__(self, zone_of: ZoneOf, *, is_owner: Callable[[Inbound], bool]) -> None:
        self._zone_of = zone_of
        self._is_owner = is_owner

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
        work = next((one for one in self._seen(tx, call) if one.id == job_id), None)
        if work is None:
            return Result(self._shown(tx, call, "over"))
        if not self._may_stop(call, work):
            return Result(self._shown(tx, call, "not yours"))
        jobs.stop(tx, job_id)
        shown = self._shown(tx, call, "stopped", without=job_id)
        if work.lane == call.inbound.address.lane:
            return Result(shown, stopped=job_id)
        return Result(shown, stopped_elsewhere=job_id)

    def _shown(
        self,
        tx: Tx,
        call: CommandCall,
        asked: Literal["", "stopped", "over", "not yours"] = "",
        *,
        without: int = 0,
    ) -> AtWork:
        works = [self._line(call, one) for one in self._seen(tx, call) if one.id != without]
        address = call.inbound.address
        rows = [row for row in schedules.of_conversation(tx, address) if row.next_due]
        rows.sort(key=lambda row: row.next_due)
        upcoming = tuple(
            (
                name_of(row),
                moment_in_words(datetime.fromisoformat(row.next_due), self._zone_of(row.zone)),
            )
            for row in rows[:_UPCOMING]
        )
        kept, until = kept_reports.waiting(tx, address)
        return AtWork(
            tuple(works),
            at_work.count_waiting(tx, address),
            upcoming,
            asked,
            kept,
            moment_in_words(datetime.fromisoformat(until), self._zone_of("")) if until else "",
        )

    def _seen(self, tx: Tx, call: CommandCall) -> list[Working]:
        """Return the jobs at work that whoever asks may know of, but for this one."""
        here = call.inbound.address
        everything = self._is_owner(call.inbound) and call.inbound.chat_kind == "private"
        return [
            one
            for one in at_work.running(tx)
            if one.id != call.job and (everything or one.inbound.address == here)
        ]

    def _line(self, call: CommandCall, work: Working) -> WorkLine:
        content, person = work.inbound.content, work.inbound.person
        since = datetime.fromisoformat(work.since).astimezone(self._zone_of(""))
        is_run = isinstance(content, Triggered | Report)
        apart = work.inbound.address != call.inbound.address
        return WorkLine(
            work.id,
            content.name if is_run else person.name or person.id,
            is_run,
            f"{since:%H:%M}",
            (work.inbound.group or person.name or work.inbound.address.chat_id) if apart else "",
            self._may_stop(call, work),
        )

    def _may_stop(self, call: CommandCall, work: Working) -> bool:
        return work.inbound.person.id == call.inbound.person.id or self._is_owner(call.inbound)
