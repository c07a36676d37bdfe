"""Handles /cron and its buttons: makes, lists, changes and removes schedules, without a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import cast, get_args

from aouo.commands.builtin import pack_here, unchosen
from aouo.commands.registry import CommandCall, Result
from aouo.commands.schedule_lines import line_of, made_of, past_of
from aouo.facts import notices
from aouo.facts.address import ConversationAddress
from aouo.facts.events import Button, Inbound
from aouo.facts.notices_schedules import (
    PAGE,
    RemovalAsked,
    ScheduleHistory,
    ScheduleRefusal,
    Schedules,
)
from aouo.facts.schedule import NotASchedule, check
from aouo.facts.work import Misfire, Scheduled
from aouo.packs.library import Library
from aouo.store import routes, schedule_runs, schedules
from aouo.store.database import Tx
from aouo.triggers import changing, scheduling
from aouo.triggers.changing import ScheduleRefused, Wish
from aouo.triggers.scheduling import Place, ZoneOf
from aouo.triggers.ticking import May, name_of

USAGE = (
    "/cron, /cron add [--name N] [--zone Z] [--misfire run_once|skip|coalesce] "
    '"every day at 9:00" <what to do>, /cron on|off|run|remove|history ID'
)
HISTORY = 10
_WORDS_MAX = 12
_FLAGS = {"name", "zone", "timezone", "misfire"}
_EXAMPLE = 'What is to be done follows: /cron add "every day at 9:00" Water the plants'
_OFF_RECORD = "This conversation is off the record, so nothing new is kept: /otr ends that."


class Scheduling:
    """Acts on the schedules of one conversation; each method runs in the caller's transaction.

    In a group only a schedule's person and the owner change it. `enabled`: whether any run at all.
    """

    def __init__(
        self,
        zone_of: ZoneOf,
        *,
        may: May,
        is_owner: Callable[[Inbound], bool],
        enabled: Callable[[], bool],
    ) -> None:
        self._zone_of = zone_of
        self._may = may
        self._is_owner = is_owner
        self._enabled = enabled

    def obey(self, tx: Tx, call: CommandCall, library: Library) -> Result:
        """`/cron`, and with a verb: add, list, page, on, off, run, remove, remove?, history. What
        a button says is refused above the list that it stood in."""
        words, flags = call.words.args, call.words.flags
        verb, rest = words[0].lower() if words else "list", words[1:]
        try:
            return self._obeyed(tx, call, library, verb, rest, flags)
        except ScheduleRefused as error:
            if isinstance(call.inbound.content, Button):
                return self.listed(tx, call, library, said=str(error), at=" ".join(rest))
            return Result(ScheduleRefusal(str(error)))

    def _obeyed(
        self,
        tx: Tx,
        call: CommandCall,
        library: Library,
        verb: str,
        rest: Sequence[str],
        flags: Mapping[str, str],
    ) -> Result:
        wanted = " ".join(rest)
        match verb:
            case "list":
                return self.listed(tx, call, library)
            case "page" if wanted.isdecimal():
                return self.listed(tx, call, library, page=max(0, int(wanted[:9]) - 1))
            case "add":
                return self._add(tx, call, library, rest, flags)
            case "on" | "off" if wanted:
                at = _found(tx, call, wanted).id
                self._switch(tx, call, library, at, on=verb == "on")
                return self.listed(tx, call, library, at=at)
            case "run" if wanted:
                at = _found(tx, call, wanted).id
                return self.listed(tx, call, library, said=self._run(tx, call, at), at=at)
            case "remove" if wanted:
                return self.listed(tx, call, library, said=self._remove(tx, call, wanted))
            case "remove?" if wanted:
                row = self._changeable(tx, call, wanted)
                return Result(RemovalAsked(line_of(row, self._zone_of)))
            case "history" if wanted:
                return self._history(tx, call, wanted)
            case _:
                return Result(notices.UsageOf(USAGE))

    def listed(
        self,
        tx: Tx,
        call: CommandCall,
        library: Library,
        *,
        page: int = 0,
        said: str = "",
        at: str = "",
    ) -> Result:
        """List the conversation's schedules: a page, or the one with the schedule `at`."""
        inbound, now = call.inbound, datetime.fromisoformat(call.now)
        pack = library.get(pack_here(tx, call, library) or "")
        if pack is not None:  # its defaults can be switched on wherever the pack is used
            place = Place(inbound.address, inbound.chat_kind, inbound.person.id)
            scheduling.propose(tx, pack.manifest, place, now, self._zone_of, consent=False)
        rows = _listed(tx, inbound.address)
        here = pack.name if pack else ""
        lines = tuple(line_of(row, self._zone_of, here=here) for row in rows)
        forbidden = ""
        if pack and pack.manifest.cron_defaults and not pack.manifest.permissions.cron:
            forbidden = pack.manifest.display_name
        page = next((n // PAGE for n, row in enumerate(rows) if row.id == at), page)
        return Result(Schedules(lines, forbidden, page, said, off=not self._enabled()))

    def _add(
        self,
        tx: Tx,
        call: CommandCall,
        library: Library,
        words: Sequence[str],
        flags: Mapping[str, str],
    ) -> Result:
        route = routes.find(tx, call.inbound.address)
        if route and route.off_record:
            raise ScheduleRefused(_OFF_RECORD)
        misfire = flags.get("misfire", "run_once")
        if unknown := sorted(flags.keys() - _FLAGS):
            raise ScheduleRefused(f"/cron add does not know --{unknown[0]}. Write {USAGE}.")
        if misfire not in get_args(Misfire):
            raise ScheduleRefused(f"--misfire is one of {', '.join(get_args(Misfire))}.")
        if not words:
            return Result(notices.UsageOf(USAGE))
        text, prompt = _parted(words)
        pack = pack_here(tx, call, library)
        if pack is None:
            raise unchosen(tx, call, library)
        changing.check_pack(pack, library)
        inbound, now = call.inbound, datetime.fromisoformat(call.now)
        wish = Wish(
            text=text,
            prompt=prompt,
            name=flags.get("name"),
            zone=flags.get("zone") or flags.get("timezone"),
            misfire=cast("Misfire", misfire),
        )
        place = Place(inbound.address, inbound.chat_kind, inbound.person.id)
        row = changing.create(tx, wish, place, now, self._zone_of, pack=pack, origin="person")
        return Result(made_of(row, now, self._zone_of, off=not self._enabled()))

    def _switch(self, tx: Tx, call: CommandCall, library: Library, wanted: str, *, on: bool) -> str:
        row = self._changeable(tx, call, wanted)
        now = datetime.fromisoformat(call.now)
        if on:
            changing.resume(tx, row, library, now, self._zone_of, self._may)
        else:
            changing.pause(tx, row, now, self._zone_of)
        return ""

    def _run(self, tx: Tx, call: CommandCall, wanted: str) -> str:
        row = self._changeable(tx, call, wanted)
        if not self._enabled():
            raise ScheduleRefused("The owner has switched schedules off, so nothing runs.")
        changing.run_now(tx, row, datetime.fromisoformat(call.now), self._may)
        return f"“{name_of(row)}” begins now; its result comes here."

    def _remove(self, tx: Tx, call: CommandCall, wanted: str) -> str:
        row = self._changeable(tx, call, wanted)
        changing.remove(tx, row)
        return f"“{name_of(row)}” is removed."

    def _history(self, tx: Tx, call: CommandCall, wanted: str) -> Result:
        row = _found(tx, call, wanted)
        runs = schedule_runs.of_schedule(tx, row.id, HISTORY)
        past = past_of(runs, self._zone_of(row.zone))
        return Result(ScheduleHistory(line_of(row, self._zone_of), past))

    def _changeable(self, tx: Tx, call: CommandCall, wanted: str) -> Scheduled:
        row = _found(tx, call, wanted)
        if row.person != call.inbound.person.id and not self._is_owner(call.inbound):
            raise ScheduleRefused(
                f"Only the person it is for and the owner can change “{name_of(row)}”."
            )
        return row


def _listed(tx: Tx, address: ConversationAddress) -> list[Scheduled]:
    """Return the conversation's schedules that are not over."""
    return [row for row in schedules.of_conversation(tx, address) if row.paused != "over"]


def _found(tx: Tx, call: CommandCall, wanted: str) -> Scheduled:
    """Return a schedule of this conversation by its id, its number in the list, or its name."""
    listed = _listed(tx, call.inbound.address)
    if wanted.isdecimal() and 0 < int(wanted) <= len(listed):
        return listed[int(wanted) - 1]
    shown = wanted if len(wanted) <= 40 else f"{wanted[:39]}…"
    match changing.matching(schedules.of_conversation(tx, call.inbound.address), wanted):
        case [row]:
            return row
        case []:
            raise ScheduleRefused(
                f"There is no schedule “{shown}” here. /cron lists what there is."
            )
        case several:
            numbers = [str(listed.index(row) + 1) for row in several if row in listed]
            which = f"by its number in /cron: {', '.join(numbers)}"
            ids = ", ".join(row.id for row in several)
            raise ScheduleRefused(
                f"{len(several)} schedules here are called “{shown}”: say which one "
                f"{which if numbers else f'by its id: {ids}'}."
            )


def _parted(words: Sequence[str]) -> tuple[str, str]:
    """Part the schedule from what to do: a quoted first word, or the most words that make one.

    Raises:
        ScheduleRefused: nothing is to be done, and what stands there is no schedule.
    """
    if " " not in words[0]:
        for count in range(min(len(words), _WORDS_MAX), 0, -1):
            text = " ".join(words[:count])
            try:
                check(text)
            except NotASchedule:
                continue
            return text, " ".join(words[count:])
    if len(words) == 1:
        try:
            check(words[0])
        except NotASchedule as error:
            raise ScheduleRefused(f"{error} {_EXAMPLE}") from None
    return words[0], " ".join(words[1:])
