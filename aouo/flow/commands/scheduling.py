"""Handles /cron and its buttons: makes, lists, changes and removes schedules, without a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import cast, get_args

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Button, Inbound
from aouo.facts.ports import iso
from aouo.facts.schedule import NotASchedule, check
from aouo.facts.taps import number_in
from aouo.facts.work import Misfire, Scheduled
from aouo.flow.commands.builtin import pack_here, unchosen
from aouo.flow.commands.registry import CommandCall, Result
from aouo.packs.library import Library
from aouo.schedules import proposals
from aouo.schedules.proposals import Place
from aouo.schedules.service import HISTORY, ScheduleRefused, Schedules, Wish, matching
from aouo.store import routes, schedule_runs, schedules
from aouo.store.database import Tx
from aouo.words import schedules as words
from aouo.words.catalogue import message, say, text

_WORDS_MAX = 12
_SPANS = {"10m": timedelta(minutes=10), "1h": timedelta(hours=1)}
_LAST_S = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp())
_FLAGS = {"name", "zone", "timezone", "misfire"}


@dataclass(slots=True, eq=False)
class Scheduling:
    """Acts on the schedules of one conversation; each method runs in the caller's transaction.

    In a group only a schedule's person and the owner change it.
    """

    schedules: Schedules
    is_owner: Callable[[Inbound], bool]

    def obey(self, tx: Tx, call: CommandCall, library: Library) -> Result:
        """`/cron`, and with a verb: add, list, page, on, off, run, remove, remove?, history.

        What a button says is refused above the list that it stood in.
        """
        args = call.words.args
        verb, wanted = args[0].lower() if args else "list", " ".join(args[1:])
        try:
            if verb == "list":
                return self.listed(tx, call, library)
            if verb == "page" and (number := number_in(wanted)) is not None:
                return self.listed(tx, call, library, page=max(0, number - 1))
            if verb == "add":
                return self._add(tx, call, library, args[1:], call.words.flags)
            if verb in ("done", "snooze") and (due := number_in("".join(args[2:3]))) is not None:
                return self._reminded(tx, call, verb, args[1], min(due, _LAST_S), args[3:])
            if verb in ("on", "off", "run", "remove", "remove?", "history") and wanted:
                return self._done(tx, call, library, verb, wanted)
        except ScheduleRefused as error:
            if isinstance(call.inbound.content, Button):
                return self.listed(tx, call, library, said=str(error), at=wanted)
            return Result(message(str(error)))
        return _usage()

    def _done(self, tx: Tx, call: CommandCall, library: Library, verb: str, wanted: str) -> Result:
        row, now = _found(tx, call, wanted), datetime.fromisoformat(call.now)
        if verb == "history":
            runs = schedule_runs.of_schedule(tx, row.id, HISTORY)
            return Result(words.history_here(row, runs, self.schedules.zone_of))
        if row.person != call.inbound.person.id and not self.is_owner(call.inbound):
            raise ScheduleRefused(text("schedule-refused.theirs", name=row.title))
        said, name = "", row.title
        match verb:
            case "remove?":
                return Result(words.removal_asked(row, self.schedules.zone_of))
            case "remove":
                self.schedules.remove(tx, row)
                said = text("schedules.removed", name=name)
            case "run":
                if not self.schedules.enabled():
                    raise ScheduleRefused(text("schedule-refused.all-off"))
                self.schedules.run(tx, row, now)
                said = text("schedules.begins", name=name)
            case _:
                self.schedules.switch(tx, row, now, on=verb == "on")
        return self.listed(tx, call, library, said=said, at=row.id)

    def _reminded(
        self, tx: Tx, call: CommandCall, verb: str, wanted: str, due: int, rest: Sequence[str]
    ) -> Result:
        """Settle a reminder that has come: done, or once more later. The first tap counts."""
        row = schedules.get(tx, wanted)
        due_at = iso(datetime.fromtimestamp(due, UTC))
        if row is None or row.address != call.inbound.address or not row.say:
            return Result(say("schedules.settled-before"))
        if not schedule_runs.is_open(tx, row.id, due_at):
            return Result(say("schedules.settled-before"))
        if verb == "done":
            schedule_runs.answer(tx, row.id, due_at, verb)
            return Result(message(text("schedules.was-done", said=row.say)))
        now, zone = datetime.fromisoformat(call.now), self.schedules.zone_of(row.zone)
        later = _snoozed(now, zone, rest[0] if rest else "")
        wish = Wish(later.astimezone(zone).isoformat(), say=row.say, name=row.name)
        place = Place(row.address, row.chat_kind, row.person)
        try:
            self.schedules.create(tx, wish, place, now, pack=row.pack, origin=row.origin)
        except ScheduleRefused as error:  # it stays open, with its buttons
            return Result(message(str(error)), beside=True)
        schedule_runs.answer(tx, row.id, due_at, verb)
        at = words.moment_in_words(later, zone)
        return Result(message(text("schedules.snoozed", said=row.say, at=at)))

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
        zone_of = self.schedules.zone_of
        pack = library.get(pack_here(tx, call, library) or "")
        if pack is not None:  # its defaults can be switched on wherever the pack is used
            now = datetime.fromisoformat(call.now)
            proposals.propose(tx, pack.manifest, _place(call), now, zone_of, consent=False)
        rows = _listed(tx, call.inbound.address)
        forbidden = pack and pack.manifest.cron_defaults and not pack.manifest.permissions.cron
        return Result(
            words.listed(
                rows,
                zone_of,
                here=pack.name if pack else "",
                page=next((n // words.PAGE for n, row in enumerate(rows) if row.id == at), page),
                said=said,
                forbidden=pack.manifest.display_name if pack and forbidden else "",
                off=not self.schedules.enabled(),
            )
        )

    def _add(
        self,
        tx: Tx,
        call: CommandCall,
        library: Library,
        rest: Sequence[str],
        flags: Mapping[str, str],
    ) -> Result:
        route = routes.find(tx, call.inbound.address)
        if route and route.off_record:
            raise ScheduleRefused(text("schedule-refused.off-record"))
        misfire = flags.get("misfire", "run_once")
        if unknown := sorted(flags.keys() - _FLAGS):
            usage = text("schedules.usage")
            raise ScheduleRefused(text("schedule-refused.flag", flag=unknown[0], usage=usage))
        if misfire not in (misfires := get_args(Misfire)):
            raise ScheduleRefused(text("schedule-refused.misfire", misfires=", ".join(misfires)))
        if not rest:
            return _usage()
        when, prompt = _parted(rest)
        pack = pack_here(tx, call, library)
        if pack is None:
            raise unchosen(tx, call, library)
        zone = flags.get("zone") or flags.get("timezone")
        kind, _, rest_of = prompt.partition(":")
        said = rest_of.strip() if kind == "say" else None
        act = rest_of.strip() if kind == "do" else None
        task = None if said or act else prompt
        wish = Wish(
            when, task, flags.get("name"), zone, cast("Misfire", misfire), say=said, act=act
        )
        now = datetime.fromisoformat(call.now)
        row = self.schedules.create(tx, wish, _place(call), now, pack=pack)
        off = not self.schedules.enabled()
        return Result(words.made_here(row, now, self.schedules.zone_of, off=off))


def _snoozed(now: datetime, zone: tzinfo, span: str) -> datetime:
    """Return when a reminder comes again: in so long, or at nine tomorrow."""
    if span in _SPANS:
        return (now + _SPANS[span]).replace(microsecond=0)
    day = now.astimezone(zone) + timedelta(days=1)
    return day.replace(hour=9, minute=0, second=0, microsecond=0)


def _usage() -> Result:
    return Result(say("commands.usage", line=text("schedules.usage")))


def _place(call: CommandCall) -> Place:
    return Place(call.inbound.address, call.inbound.chat_kind, call.inbound.person.id)


def _listed(tx: Tx, address: ConversationAddress) -> list[Scheduled]:
    """Return the conversation's schedules that are not over."""
    return [row for row in schedules.of_conversation(tx, address) if row.paused != "over"]


def _found(tx: Tx, call: CommandCall, wanted: str) -> Scheduled:
    """Return a schedule of this conversation by its id, its number in the list, or its name."""
    listed = _listed(tx, call.inbound.address)
    number = number_in(wanted)
    if number and number <= len(listed):
        return listed[number - 1]
    name = wanted if len(wanted) <= 40 else f"{wanted[:39]}…"
    match matching(schedules.of_conversation(tx, call.inbound.address), wanted):
        case [row]:
            return row
        case []:
            raise ScheduleRefused(text("schedule-refused.none", name=name))
        case several:
            numbers = ", ".join(str(listed.index(row) + 1) for row in several if row in listed)
            ids = ", ".join(row.id for row in several)
            which = (
                text("schedule-refused.which-number", numbers=numbers)
                if numbers
                else text("schedule-refused.which-id", ids=ids)
            )
            many = len(several)
            raise ScheduleRefused(
                text("schedule-refused.several", many=many, name=name, which=which)
            )


def _parted(words: Sequence[str]) -> tuple[str, str]:
    """Part the schedule from what to do: a quoted first word, or the most words that make one.

    Raises:
        ScheduleRefused: nothing is to be done, and what stands there is no schedule.
    """
    if " " not in words[0]:
        for count in range(min(len(words), _WORDS_MAX), 0, -1):
            when = " ".join(words[:count])
            try:
                check(when)
            except NotASchedule:
                continue
            return when, " ".join(words[count:])
    if len(words) == 1:
        try:
            check(words[0])
        except NotASchedule as error:
            raise ScheduleRefused(text("schedule-refused.needs-task", why=error)) from None
    return words[0], " ".join(words[1:])
