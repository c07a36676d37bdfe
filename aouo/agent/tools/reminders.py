"""Reminders for packs: a table that holds those of whoever looks, and what actions do with one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from typing import TypeAlias

from aouo.facts.errors import ToolFailed
from aouo.facts.events import Person
from aouo.facts.ports import Clock, iso
from aouo.facts.schedule import NotASchedule, Once, next_after, parse
from aouo.facts.work import Facts, Scheduled
from aouo.packs.actions import corrections, slots
from aouo.packs.data.rows import Cell
from aouo.packs.data.storage import PackStore
from aouo.packs.load import Pack
from aouo.schedules.proposals import Place
from aouo.schedules.service import ScheduleRefused, Schedules, Wish
from aouo.store import schedule_runs, schedules
from aouo.store.chats import tenant_at
from aouo.store.database import Database, Tx
from aouo.words.catalogue import text
from aouo.words.schedules import text_in_words

Plan: TypeAlias = dict[str, str]
"""What becomes of a reminder: its words `say`, its id `of`, and the `steps`."""


@dataclass(frozen=True, slots=True)
class Reminders:
    """Fills a pack's table `schema.reminders` before somebody looks: what will be said to this
    person or group (`coming`, `off`), and what was said and not ticked off (`late`)."""

    database: Database
    clock: Clock
    zone: Callable[[str], tzinfo]
    open_store: Callable[[str, str], PackStore]
    service: Schedules

    async def fill(self, pack: Pack, tenant: str, person: Person) -> None:
        if not (table := pack.manifest.schema.reminders):
            return
        found = await self.database.read(lambda tx: reminders_of(tx, tenant, pack.name))
        here = slots.Here(self.clock.now(), self.zone(person.id), person.language)
        rows = [_row(one, state, here) for one, state in found]

        def fill() -> None:
            self.open_store(pack.name, tenant).mirror(table, rows)

        await asyncio.to_thread(fill)

    async def planned(self, wanted: Mapping[str, str], facts: Facts, new_id: str) -> Plan:
        """Return what has to become of a reminder: `do` is done, snooze, move, ahead or remove,
        `id` "" is the one that came last; remove_all is of all. Snoozed or moved, it is made anew
        as `new_id`; ahead of itself, it is said once more.

        Raises:
            ToolFailed: there is none; says so.
        """
        those = await self.database.read(lambda tx: reminders_of(tx, facts.tenant, facts.pack))
        if wanted["do"] == "remove_all":
            if not those:
                raise ToolFailed(text("schedules.no-reminders"))
            steps = " ".join(step for row, state in those for step in _ending(row, state))
            return {"say": str(len(those)), "of": those[0][0].id, "steps": steps}
        late = [row.id for row, state in those if state == "late"]
        wish = wanted.get("id") or "".join(late[-1:])
        found = next((one for one in those if one[0].id == wish), None)
        if found is None:
            raise ToolFailed(text("schedules.settled-before" if wish else "schedules.none-late"))
        row, state = found
        ends = wanted["do"] in ("remove", "move") or state != "late"
        steps = [step for step in _ending(row, state) if ends or step.startswith("~")]
        steps = [] if wanted["do"] == "ahead" else steps
        made = [f"+{new_id}"] if wanted["do"] in ("snooze", "move", "ahead") else []
        plan = {"say": row.say, "of": row.id, "steps": " ".join([*made, *steps])}
        if wanted["do"] not in ("move", "ahead"):
            return plan
        when, said, was = self._moved(row, wanted["when"], facts.person)
        words = f"{row.say} ({was})" if wanted["do"] == "ahead" else row.say
        return {**plan, "when": when, "say": said, "words": words}

    def _moved(self, row: Scheduled, words: str, person: Person) -> tuple[str, str, str]:
        """Return when a reminder comes once it is moved, that in words, and when it came: what is
        not said, day or clock, stays.

        Raises:
            ToolFailed: it cannot come then; says why.
        """
        here = slots.Here(self.clock.now(), self.zone(person.id), person.language)
        then = replace(here, now=datetime.fromisoformat(row.since))
        before = when = row.next_due if row.next_due and _is_once(row, here.zone) else row.text
        try:
            for step in words.split("; "):
                when = corrections.moved(when, step, then, here)
        except slots.Misread as error:
            raise ToolFailed(text(error.why, **error.parts)) from error
        if not when:
            raise ToolFailed(text("slots.no-time", text=words))
        now, was = (slots.read("when", time, then) for time in (when, before))
        far = replace(here, now=here.now - timedelta(days=30))
        return when, _in_words(now, here), _in_words(was, far)

    async def carry_out(self, plan: Plan, wanted: Mapping[str, str]) -> None:
        """Carry a plan out; twice is once.

        Raises:
            ToolFailed: nothing was changed; says why.
        """
        now = self.clock.now()

        def change(tx: Tx) -> None:
            for how, which in _steps(plan["steps"]):
                row = schedules.get(tx, plan["of"] if how == "+" else which)
                if row is None:
                    continue
                if how == "+":
                    words = plan.get("words") or row.say
                    again = Wish(plan.get("when") or wanted["when"], say=words, name=row.name)
                    place = Place(row.address, row.chat_kind, row.person)
                    self.service.create(
                        tx, again, place, now, pack=row.pack, origin=row.origin, schedule_id=which
                    )
                elif how == "~":
                    due = schedule_runs.unanswered(tx, which)
                    schedule_runs.answer(tx, which, due, wanted["do"].removesuffix("_all"))
                elif row.next_due:
                    over = replace(row, enabled=False, paused="over", next_due="")
                    schedules.edit(tx, over, iso(now))

        await self._write(change)

    async def put_back(self, steps: str) -> None:
        """Put back what a plan did, and what a call made (`+ID`); twice is once.

        Raises:
            ToolFailed: it cannot be put back any more; says why.
        """
        now = self.clock.now()

        def change(tx: Tx) -> None:
            for how, which in _steps(steps):
                row = schedules.get(tx, which)
                if row and how == "+":
                    self.service.remove(tx, row)
                elif row and how == "-" and not row.next_due:
                    self.service.switch(tx, row, now, on=True)
                elif row and how == "~":
                    schedule_runs.reopen(tx, which)

        await self._write(change)

    async def _write(self, change: Callable[[Tx], None]) -> None:
        try:
            await self.database.transact(change, durable=True)
        except ScheduleRefused as error:
            raise ToolFailed(str(error)) from error


def _in_words(when: slots.Value, here: slots.Here) -> str:
    return text_in_words(when, here.zone) if isinstance(when, str) else slots.say("", when, here)


def _ending(row: Scheduled, state: str) -> list[str]:
    return [f"~{row.id}"] * (state == "late") + [f"-{row.id}"] * bool(row.next_due)


def _steps(steps: str) -> list[tuple[str, str]]:
    """Return each step of a plan: `+` makes a reminder, `-` ends it, `~` ticks it off."""
    return [(step[0], step[1:]) for step in steps.split()]


def reminders_of(tx: Tx, tenant: str, pack: str) -> list[tuple[Scheduled, str]]:
    """Return what will be said to a tenant of a pack, and what was said and not ticked off, each
    with its state."""
    found = [
        (row, state)
        for place in schedules.speaking_places(tx)
        if tenant_at(tx, *place, pack) == tenant
        for row in schedules.spoken(tx, *place)
        if (state := _state(tx, row))
    ]
    return sorted(found, key=lambda one: one[0].next_due or one[0].last_due)


def _state(tx: Tx, row: Scheduled) -> str:
    """Return `coming`, `off`, `late`, or "" if it is over and dealt with."""
    if row.next_due:
        return "coming"
    if row.paused != "over":
        return "off"
    return "late" if schedule_runs.unanswered(tx, row.id) else ""


def _row(row: Scheduled, state: str, here: slots.Here) -> dict[str, Cell]:
    at = _comes_at(row, here).astimezone(here.zone)
    return {
        "id": row.id,
        "text": row.say,
        "due": f"{at:%Y-%m-%d %H:%M}",
        "comes": slots.say("datetime", at, here)
        + (f" ({text('schedules.paused-person')})" if state == "off" else ""),
        "every": "" if _is_once(row, here.zone) else text_in_words(row.text, here.zone),
        "state": state,
    }


def _comes_at(row: Scheduled, here: slots.Here) -> datetime:
    """Return when a reminder comes; one that is off, when it would."""
    moment = datetime.fromisoformat(row.next_due or row.last_due or row.since)
    if row.next_due or row.paused == "over":
        return moment
    try:
        schedule = parse(row.text, datetime.fromisoformat(row.since), here.zone)
    except NotASchedule:
        return moment
    if isinstance(schedule, Once):
        return schedule.at
    return next_after(schedule, here.now, here.zone) or moment


def _is_once(row: Scheduled, zone: tzinfo) -> bool:
    if row.paused == "over":
        return True
    try:
        return isinstance(parse(row.text, datetime.fromisoformat(row.since), zone), Once)
    except NotASchedule:
        return False
