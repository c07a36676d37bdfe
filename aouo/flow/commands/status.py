"""Handles /status, /usage, /why and /jobs: what is at work, spent, and how it went."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal
from urllib.parse import quote

from aouo.facts.events import Inbound
from aouo.facts.ports import Rendered
from aouo.facts.schedule import ZoneOf
from aouo.facts.taps import number_in
from aouo.facts.work import Route, Working
from aouo.flow.commands.builtin import pack_here
from aouo.flow.commands.registry import CommandCall, Handler, Look, Result
from aouo.packs.library import Library
from aouo.plumbing.redact import Redactor
from aouo.store import (
    audit,
    jobs,
    kept_reports,
    routes,
    schedules,
    traces,
    turn_reports,
    usage_report,
)
from aouo.store.database import Tx
from aouo.store.snapshots import Query, Snapshot
from aouo.store.traces import ToolUse
from aouo.store.usage_report import Sum, last_days
from aouo.words import money, turns
from aouo.words import schedules as words
from aouo.words.catalogue import message, say, text
from aouo.words.conversations import at_work


def status(is_owner: Callable[[Inbound], bool], bot: Callable[[Tx], Sequence[str]]) -> Handler:
    """Make the handler; only the owner is told of the `bot` and of other conversations, and not in
    front of others."""

    def show(tx: Tx, call: CommandCall, library: Library) -> Result:
        address, alone = call.inbound.address, call.inbound.chat_kind == "private"
        route = routes.find(tx, address)
        bound = route.active_pack if route else ""
        pack = pack_here(tx, call, library)
        if pack:
            lines = [text("status.answers", pack=pack)]
        elif pack is None:
            which = "gone" if bound else "chosen"
            lines = [text(f"status.answers-{which}", pack=bound)]
        else:
            lines = [text("status.answers-none")]
        if route and route.off_record:
            lines.append(text("status.off-record"))
        running, waiting = jobs.behind(tx, address.lane)
        lines.append(at_work("here", int(running is not None), len(waiting)))
        if alone and is_owner(call.inbound):
            lines += ["", *bot(tx)]
        return Result(message("\n".join(lines)))

    return show


def spending(day: Callable[[], str], is_owner: Callable[[Inbound], bool]) -> Look:
    """Make the look-up; `day` gives the local day. The owner also sees the sums of all people."""

    async def show(snapshot: Snapshot, call: CommandCall, route: Route | None) -> Result:
        pack, person = route.active_pack if route else "", call.inbound.person.id
        today = day()
        one, week = last_days(today, 1), last_days(today, 7)
        owner = is_owner(call.inbound)
        by_day = usage_report.by_day_of_person(week, person, pack)
        found = await snapshot.ask(usage_report.by_day(week) if owner else by_day)
        mine = usage_report.of_person(one, person, pack), usage_report.of_person(week, person, pack)
        asked = [mine, (usage_report.total(one), usage_report.total(week))] if owner else [mine]
        spent = [(await _spent(snapshot, a), await _spent(snapshot, b)) for a, b in asked]
        days = _days(date.fromisoformat(today), found)
        return Result(money.spending(pack, spent, days))

    return show


def _days(today: date, found: Sequence[tuple[str, Sum]]) -> tuple[tuple[date, int], ...]:
    """The tokens of the seven days that end today, those without any included."""
    used = {day: each.input_tokens + each.output_tokens for day, each in found}
    week = [today - timedelta(days=before) for before in range(6, -1, -1)]
    return tuple((day, used.get(day.isoformat(), 0)) for day in week)


async def _spent(snapshot: Snapshot, query: Query[Sum]) -> money.Spent:
    found = await snapshot.ask(query)
    tokens = found.input_tokens + found.output_tokens
    return found.calls, tokens, found.cost_usd, found.cached_tokens, found.unpriced


def why(
    is_owner: Callable[[Inbound], bool], page: Callable[[], str], redactor: Callable[[], Redactor]
) -> Look:
    """Make the look-up; `page` gives the address of the local page, "" = it listens nowhere.

    People are told of their own turns, the owner of everybody's here, with the whole reasons
    without secrets; in private the owner is told where to read on.
    """

    async def show(snapshot: Snapshot, call: CommandCall, route: Route | None) -> Result:
        owner, inbound = is_owner(call.inbound), call.inbound
        if owner and call.words.args:
            rows = await snapshot.ask(audit.of_call(call.words.args[0]))
            return Result(turns.explained(rows))
        person = "" if owner else inbound.person.id
        session = route.session_id if route else ""
        turn = await snapshot.ask(turn_reports.newest_here(inbound.address, session, person))
        if turn is None:
            return Result(say("why.nothing"))
        told, look = await traces.ask(snapshot, turn), ""
        if owner and inbound.chat_kind == "private":
            address = page()
            look = f"{address}#/turns/{quote(turn.id, safe='')}" if address else ""
            look = look or f"aouo trace {turn.id}"

        def reason_of(use: ToolUse) -> str:
            return redactor().text(use.reason) if owner and use.verdict == "refused" else ""

        return Result(turns.why(told, reason_of, look))

    return show


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
            case ("stop", word) if (number := number_in(word)) is not None:
                return self._stop(tx, call, number)
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
            waiting=traces.count_waiting(tx, address),
            kept=kept,
            until=until,
        )

    def _seen(self, tx: Tx, call: CommandCall) -> list[Working]:
        """Return the jobs at work that whoever asks may know of, but for this one."""
        here = call.inbound.address
        everything = self.is_owner(call.inbound) and call.inbound.chat_kind == "private"
        return [
            work
            for work in traces.running(tx)
            if work.id != call.job and (everything or work.inbound.address == here)
        ]

    def _may_stop(self, call: CommandCall, work: Working) -> bool:
        return work.inbound.person.id == call.inbound.person.id or self.is_owner(call.inbound)
