"""Reminders for packs: a table that holds those of whoever looks, and what actions do with one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Literal

from aouo.agent.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.facts.errors import ToolFailed
from aouo.facts.events import Person
from aouo.facts.ports import Clock
from aouo.facts.schedule import NotASchedule, Once, parse
from aouo.facts.work import Scheduled
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

GROUP = "own"
"""Tools that only actions of packs use."""


@dataclass(frozen=True, slots=True)
class Reminders:
    """Fills a pack's table `schema.reminders` before somebody looks: what will be said to this
    person or group (`coming`, `off`), and what was said and not ticked off (`late`)."""

    database: Database
    clock: Clock
    zone: Callable[[str], tzinfo]
    open_store: Callable[[str, str], PackStore]

    async def __call__(self, pack: Pack, tenant: str, person: Person) -> None:
        if not (table := pack.manifest.schema.reminders):
            return
        found = await self.database.read(lambda tx: _those_of(tx, tenant))
        here = slots.Here(self.clock.now(), self.zone(person.id), person.language)
        rows = [_row(one, state, here) for one, state in found]

        def fill() -> None:
            self.open_store(pack.name, tenant).mirror(table, rows)

        await asyncio.to_thread(fill)


def _those_of(tx: Tx, tenant: str) -> list[tuple[Scheduled, str]]:
    found = [
        (row, state)
        for row in schedules.spoken(tx)
        if tenant_at(tx, row.address, row.chat_kind, row.person) == tenant
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


class Reminding(Arguments):
    do: Literal["done", "snooze", "remove"]
    id: str
    when: str = ""
    """When it comes again: a moment."""


def reminders(database: Database, clock: Clock, service: Schedules) -> Tool:
    """Make the tool by which actions tick off, put off and remove a reminder of whoever asks."""

    async def run(wish: Reminding, context: ToolContext, call_id: str) -> str:
        del call_id
        now = clock.now()

        def change(tx: Tx) -> str:
            row = schedules.get(tx, wish.id)
            facts = context.facts
            if row is None or not row.say:
                raise ToolFailed(text("schedules.settled-before"))
            if tenant_at(tx, row.address, row.chat_kind, row.person) != facts.tenant:
                raise ToolFailed(text("schedules.settled-before"))
            return _changed(tx, row, wish, now, service)

        try:
            return await database.transact(change, durable=True)
        except ScheduleRefused as error:
            raise ToolFailed(str(error)) from error

    return tool(
        "reminders", "Tick off, put off or remove.", Reminding, run, group=GROUP, mutates=True
    )


def _changed(tx: Tx, row: Scheduled, wish: Reminding, now: datetime, service: Schedules) -> str:
    if wish.do == "remove":
        service.remove(tx, row)
        return row.say
    run = schedule_runs.unanswered(tx, row.id)
    if wish.do == "done" and not run:  # ticked off before its time: it need not come
        service.remove(tx, row)
        return row.say
    if run:
        schedule_runs.answer(tx, row.id, run, wish.do)
    if wish.do == "snooze":
        again = Wish(wish.when, say=row.say, name=row.name)
        place = Place(row.address, row.chat_kind, row.person)
        service.create(tx, again, place, now, pack=row.pack, origin=row.origin)
        if not run and _is_once(row, service.zone_of(row.zone)):
            service.remove(tx, row)
    return row.say
