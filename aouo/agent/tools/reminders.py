"""Reminders for packs: a table that holds those of whoever looks, and what actions do with one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import TypeAlias

from aouo.facts.errors import ToolFailed
from aouo.facts.events import Person
from aouo.facts.ports import Clock, iso
from aouo.facts.schedule import NotASchedule, Once, parse
from aouo.facts.work import Facts, Scheduled
from aouo.packs.actions import slots
from aouo.packs.data.rows import Cell
from aouo.packs.data.storage import PackStore
from aouo.packs.load import Pack
from aouo.schedules.proposals import Place
from aouo.schedules.service import ScheduleRefused, Schedules, Wish
from aouo.store import schedule_runs, schedules
from aouo.store.chats import tenant_at
from aouo.store.database import Database, Tx
from aouo.words.catalogue import text

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
        """Return what has to become of a reminder: `do` is done, snooze or remove, `id` "" is the
        one that came last. Snoozed, it is made anew as `new_id`.

        Raises:
            ToolFailed: there is none; says so.
        """
        those = await self.database.read(lambda tx: reminders_of(tx, facts.tenant, facts.pack))
        late = [row.id for row, state in those if state == "late"]
        wish = wanted.get("id") or "".join(late[-1:])
        found = next((one for one in those if one[0].id == wish), None)
        if found is None:
            raise ToolFailed(text("schedules.settled-before" if wish else "schedules.none-late"))
        row, state = found
        ends = row.next_due and (wanted["do"] == "remove" or state != "late")
        steps = [f"~{row.id}"] * (state == "late") + [f"-{row.id}"] * bool(ends)
        made = [f"+{new_id}"] if wanted["do"] == "snooze" else []
        return {"say": row.say, "of": row.id, "steps": " ".join([*made, *steps])}

    async def carry_out(self, plan: Plan, wanted: Mapping[str, str]) -> None:
        """Carry a plan out; twice is once.

        Raises:
            ToolFailed: nothing was changed; says why.
        """
        now = self.clock.now()

        def change(tx: Tx) -> None:
            row = schedules.get(tx, plan["of"])
            for how, which in _steps(plan["steps"]) if row else ():
                assert row
                if how == "+":
                    again = Wish(wanted["when"], say=row.say, name=row.name)
                    place = Place(row.address, row.chat_kind, row.person)
                    self.service.create(
                        tx, again, place, now, pack=row.pack, origin=row.origin, schedule_id=which
                    )
                elif how == "~":
                    due = schedule_runs.unanswered(tx, which)
                    schedule_runs.answer(tx, which, due, wanted["do"])
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


def _steps(steps: str) -> list[tuple[str, str]]:
    """Return each step of a plan: `+` makes a reminder, `-` ends it, `~` ticks it off."""
    return [(step[0], step[1:]) for step in steps.split()]


def reminders_of(tx: Tx, tenant: str, pack: str) -> list[tuple[Scheduled, str]]:
    """Return what will be said to a tenant of a pack, and what was said and not ticked off, each
    with its state."""
    found = [
        (row, state)
        for row in schedules.spoken(tx)
        if tenant_at(tx, row.address, row.chat_kind, row.person, pack) == tenant
        and (state := _state(tx, row))
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
    at = datetime.fromisoformat(row.next_due or row.last_due or row.since).astimezone(here.zone)
    return {
        "id": row.id,
        "text": row.say,
        "due": f"{at:%Y-%m-%d %H:%M}",
        "comes": slots.say("datetime", at, here),
        "every": "" if _is_once(row, here.zone) else row.text,
        "state": state,
    }


def _is_once(row: Scheduled, zone: tzinfo) -> bool:
    if row.paused == "over":
        return True
    try:
        return isinstance(parse(row.text, datetime.fromisoformat(row.since), zone), Once)
    except NotASchedule:
        return False
