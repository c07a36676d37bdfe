"""`cron`: make, list and change the schedules of this conversation, for the person of this turn."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Literal

from aouo.agent.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.facts.errors import ToolFailed
from aouo.facts.people import PEOPLE
from aouo.facts.ports import Clock, iso
from aouo.facts.records import Sink
from aouo.facts.work import Scheduled
from aouo.packs.format.problems import DEFAULT_TOOLS
from aouo.packs.library import Library
from aouo.plumbing.web.envelope import said_by
from aouo.schedules.proposals import Place
from aouo.schedules.service import ScheduleRefused, Schedules, Wish
from aouo.store import kept_changes, schedules
from aouo.store.database import Database, Tx
from aouo.store.kept_changes import Kept
from aouo.words.schedules import line_of, next_times, zone_name

_PROMPT_CHARS = 300
_BY_ITSELF = (
    "This turn began by itself, and such a turn makes and changes no schedules, so that none "
    "multiply: the pack's permissions.tools would have to name cron. Answer with what you would "
    "schedule, so that the person can ask for it."
)
_OFF = " But the owner has switched all schedules off (cron.enabled): nothing comes before that."


_SINKS: Mapping[str, Sink] = {"list": "look", "remove": "destroy"}


class Cron(Arguments):
    action: Literal["create", "list", "update", "pause", "resume", "remove"]
    id: str = ""
    name: str = ""
    say: str = ""
    """a reminder's words, verbatim"""
    do: str = ""
    prompt: str = ""
    """or what you do then"""
    schedule: str = ""
    """in 5 minutes | every 2h | every Monday at 9:00 | tomorrow at 9:00 | 0 9 * * 1-5"""
    timezone: str = ""


def cron(database: Database, clock: Clock, service: Schedules) -> Tool:
    """Make the tool. A call that runs twice makes one schedule."""

    async def _run(wish: Cron, context: ToolContext, call_id: str) -> str:
        _check_origin(wish, context, service.library())
        if wish.action == "list":
            return await database.read(lambda tx: _listed(_own(tx, context), service))
        now, new_id = clock.now(), id_of(context.facts.id, call_id)
        try:
            done = await database.transact(
                lambda tx: _kept(
                    tx,
                    call_id,
                    wish.id.strip() or new_id,
                    now,
                    lambda: _done(tx, wish, context, now, service, new_id),
                ),
                durable=True,
            )
        except ScheduleRefused as error:
            raise ToolFailed(str(error)) from error
        return done if service.enabled() or wish.action in ("pause", "remove") else done + _OFF

    return tool(
        "cron",
        "Have something begin by itself here, at times or once (reminders too).",
        Cron,
        _run,
        sink=lambda wish: _SINKS.get(wish.action, "persist"),
        targets=lambda wish: {"id": wish.id, "do": wish.do, "say": wish.say, "prompt": wish.prompt},
        group="schedule",
        mutates=lambda wish: wish.action != "list",
        read_only=lambda wish: wish.action == "list",
    )


def _kept(tx: Tx, call_id: str, which: str, now: datetime, change: Callable[[], str]) -> str:
    """Change a schedule, and keep what it was before: once, however often the call is made."""
    before = schedules.written(tx, which)
    done = change()
    after = schedules.written(tx, which)
    if after != before:
        kept = Kept("schedule", which, before.encode() if before else None, after)
        kept_changes.keep(tx, call_id, kept, iso(now))
    return done


def _done(
    tx: Tx, wish: Cron, context: ToolContext, now: datetime, service: Schedules, new_id: str
) -> str:
    """Carry out what changes something; return what is so now."""
    if wish.action == "create":
        place = Place(context.facts.address, context.facts.chat_kind, context.facts.person.id)
        said = wish.say or None
        wanted = Wish(
            wish.schedule,
            wish.prompt or None,
            wish.name,
            wish.timezone,
            say=said,
            act=wish.do or None,
            source=", ".join(context.sources()),
        )
        made = service.create(
            tx, wanted, place, now, pack=context.facts.pack, origin="model", schedule_id=new_id
        )
        return f"Made. {_told(made, now, service)}"
    own = _own(tx, context)
    row = next((row for row in own if row.id == wish.id.strip()), None)
    if row is None:
        raise ScheduleRefused(
            f"There is no schedule {wish.id[:40]!r} here. {_listed(own, service)}"
        )
    match wish.action:
        case "update":
            wanted = Wish(
                wish.schedule or None,
                wish.prompt or None,
                wish.name or None,
                wish.timezone or None,
                say=wish.say or None,
                act=wish.do or None,
            )
            if wanted != Wish():
                wanted = replace(wanted, source=", ".join(context.sources()))
            if wanted == Wish():
                raise ScheduleRefused("Say what to change: name, prompt, schedule or timezone.")
            return f"Changed. {_told(service.change(tx, row, wanted, now), now, service)}"
        case "pause":
            line = _line(service.switch(tx, row, now, on=False), service)
            return f"Off. {said_by(row.source, line)}"
        case "resume":
            return f"On. {_told(service.switch(tx, row, now, on=True), now, service)}"
        case _:
            return f"Removed: {said_by(row.source, f'“{service.remove(tx, row).title}”')}."


def _own(tx: Tx, context: ToolContext) -> list[Scheduled]:
    """Return the schedules of this conversation, person and pack: what a call may see."""
    rows = schedules.of_conversation(tx, context.facts.address)
    return [
        row
        for row in rows
        if (row.pack, row.person) == (context.facts.pack, context.facts.person.id)
    ]


def _listed(rows: list[Scheduled], service: Schedules) -> str:
    lines = (said_by(row.source, f"{_line(row, service)}; {_does(row)}") for row in rows)
    return "\n".join(lines) or "There are no schedules here."


def _does(row: Scheduled) -> str:
    """Name what a schedule says, does or asks."""
    kind = "says" if row.say else "does" if row.act else "prompt"
    return f"{kind}: {_cut(row.say or row.act or row.prompt)}"


def _told(row: Scheduled, now: datetime, service: Schedules) -> str:
    line = said_by(row.source, f"{_line(row, service)}.")
    if not row.enabled:
        return line
    times = "; ".join(next_times(row, now, service.zone_of))
    zone = zone_name(row, service.zone_of)
    return f"{line} Next: {times} ({zone}). Tell the person these times."


def _line(row: Scheduled, service: Schedules) -> str:
    return f"id {row.id}: {line_of(row, service.zone_of)}"


def _check_origin(wish: Cron, context: ToolContext, library: Library) -> None:
    """Let a turn that began by itself only look, unless its pack names the tool.

    Raises:
        ToolFailed: says so.
    """
    if wish.action == "list" or context.facts.origin in PEOPLE:
        return
    pack = library.get(context.facts.pack)
    named = pack.manifest.permissions.tools if pack else DEFAULT_TOOLS
    if named is DEFAULT_TOOLS or not {"cron", "schedule"} & set(named):
        raise ToolFailed(_BY_ITSELF)


def id_of(turn_id: str, call_id: str) -> str:
    """Return the id of the schedule that this call makes, however often it runs."""
    digest = hashlib.sha256(f"{turn_id}:{call_id}".encode()).digest()
    return base64.b32encode(digest).decode()[:10].lower()


def _cut(text: str) -> str:
    said = " ".join(text.split())
    return said if len(said) <= _PROMPT_CHARS else f"{said[: _PROMPT_CHARS - 1]}…"
