"""`cron`: make, list and change the schedules of this conversation, for the person of this turn."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Literal

from aouo.facts.errors import ToolFailed
from aouo.facts.origins import PEOPLE
from aouo.facts.ports import Clock
from aouo.facts.schedule_words import moment_in_words
from aouo.facts.work import Scheduled
from aouo.packs.format.names import DEFAULT_TOOLS
from aouo.packs.library import Library
from aouo.store import schedules
from aouo.store.database import Database, Tx
from aouo.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.triggers import changing
from aouo.triggers.changing import ScheduleRefused, Wish
from aouo.triggers.scheduling import Place, ZoneOf
from aouo.triggers.ticking import name_of

_PROMPT_CHARS = 300
_BY_ITSELF = (
    "This turn began by itself, and such a turn makes and changes no schedules, so that none "
    "multiply: the pack's permissions.tools would have to name cron. Answer with what you would "
    "schedule, so that the person can ask for it."
)
_OFF = " But the owner has switched all schedules off (cron.enabled): nothing comes before that."


class Cron(Arguments):
    action: Literal["create", "list", "update", "pause", "resume", "remove"]
    id: str = ""
    name: str = ""
    prompt: str = ""
    """What you shall do then."""
    schedule: str = ""
    """in 5 minutes | every 2h | every Monday at 9:00 | tomorrow at 9:00 | 0 9 * * 1-5"""
    timezone: str = ""


def cron(
    database: Database,
    clock: Clock,
    *,
    zone_of: ZoneOf,
    library: Callable[[], Library],
    enabled: bool,
) -> Tool:
    """Make the tool; `enabled`: schedules run at all. A call that runs twice makes one schedule."""

    async def _run(wish: Cron, context: ToolContext, call_id: str) -> str:
        _check_origin(wish, context, library())
        calls = _Calls(wish, context, call_id, clock.now(), zone_of, library())
        try:
            if wish.action == "list":
                return await database.read(calls.listed)
            done = await database.transact(calls.done, durable=True)
        except ScheduleRefused as error:
            raise ToolFailed(str(error)) from error
        return done if enabled or wish.action in ("pause", "remove") else done + _OFF

    return tool(
        "cron",
        "Have something begin by itself, at times or once (reminders too), in this conversation.",
        Cron,
        _run,
        group="schedule",
        mutates=lambda wish: wish.action != "list",
        read_only=lambda wish: wish.action == "list",
    )


class _Calls:
    """One call; what it may see are schedules of this conversation, person and pack."""

    def __init__(
        self,
        wish: Cron,
        context: ToolContext,
        call_id: str,
        now: datetime,
        zone_of: ZoneOf,
        library: Library,
    ) -> None:
        self._wish = wish
        self._context = context
        self._call_id = call_id
        self._now = now
        self._zone_of = zone_of
        self._library = library

    def listed(self, tx: Tx) -> str:
        """Return the schedules, one a line."""
        lines = [f"{self._line(row)}; prompt: {_cut(row.prompt)}" for row in self._own(tx)]
        return "\n".join(lines) or "There are no schedules here."

    def done(self, tx: Tx) -> str:
        """Carry out what changes something; return what is so now."""
        wish = self._wish
        if wish.action == "create":
            changing.check_pack(self._context.pack, self._library)
            return f"Made. {self._told(self._created(tx))}"
        row = next((one for one in self._own(tx) if one.id == wish.id.strip()), None)
        if row is None:
            raise ScheduleRefused(f"There is no schedule {wish.id[:40]!r} here. {self.listed(tx)}")
        match wish.action:
            case "update":
                return f"Changed. {self._told(self._changed(tx, row))}"
            case "pause":
                return f"Off. {self._line(changing.pause(tx, row, self._now, self._zone_of))}"
            case "resume":
                # Whoever has this turn is on the list, and it changes only what is theirs.
                may = partial(changing.may_run, library=self._library, is_listed=lambda _: True)
                args = (self._library, self._now, self._zone_of, may)
                return f"On. {self._told(changing.resume(tx, row, *args))}"
            case _:
                changing.remove(tx, row)
                return f"Removed: “{name_of(row)}”."

    def _own(self, tx: Tx) -> list[Scheduled]:
        context = self._context
        return [
            row
            for row in schedules.of_conversation(tx, context.address)
            if (row.pack, row.person) == (context.pack, context.person)
        ]

    def _created(self, tx: Tx) -> Scheduled:
        wish, context = self._wish, self._context
        wanted = Wish(wish.schedule, wish.prompt, wish.name, wish.timezone)
        place = Place(context.address, context.chat_kind, context.person)
        return changing.create(
            tx,
            wanted,
            place,
            self._now,
            self._zone_of,
            pack=context.pack,
            origin="model",
            schedule_id=_id_of(context.turn_id, self._call_id),
        )

    def _changed(self, tx: Tx, row: Scheduled) -> Scheduled:
        wish = self._wish
        wanted = Wish(
            wish.schedule or None, wish.prompt or None, wish.name or None, wish.timezone or None
        )
        if wanted == Wish():
            raise ScheduleRefused("Say what to change: name, prompt, schedule or timezone.")
        return changing.change(tx, row, wanted, self._now, self._zone_of)

    def _told(self, row: Scheduled) -> str:
        zone = self._zone_of(row.zone)
        times = [
            moment_in_words(time, zone) for time in changing.upcoming(row, self._now, self._zone_of)
        ]
        upcoming = f" Next: {'; '.join(times)} ({changing.zone_name(row, self._zone_of)})."
        tell = " Tell the person these times." if row.enabled else ""
        return f"{self._line(row)}.{upcoming if row.enabled else ''}{tell}"

    def _line(self, row: Scheduled) -> str:
        zone, when = self._zone_of(row.zone), changing.when(row, self._zone_of)
        due = moment_in_words(datetime.fromisoformat(row.next_due), zone) if row.next_due else ""
        state = "off" if row.paused else f"on, next {due}" if due else "over"
        return f"id {row.id}: “{name_of(row)}”, {when}: {state}"


def _check_origin(wish: Cron, context: ToolContext, library: Library) -> None:
    """Let a turn that began by itself only look, unless its pack names the tool.

    Raises:
        ToolFailed: says so.
    """
    if wish.action == "list" or context.origin in PEOPLE:
        return
    pack = library.get(context.pack)
    named = pack.manifest.permissions.tools if pack else DEFAULT_TOOLS
    if named is DEFAULT_TOOLS or not {"cron", "schedule"} & set(named):
        raise ToolFailed(_BY_ITSELF)


def _id_of(turn_id: str, call_id: str) -> str:
    """Return the id of the schedule that this call makes, however often it runs."""
    digest = hashlib.sha256(f"{turn_id}:{call_id}".encode()).digest()
    return base64.b32encode(digest).decode()[:10].lower()


def _cut(text: str) -> str:
    said = " ".join(text.split())
    return said if len(said) <= _PROMPT_CHARS else f"{said[: _PROMPT_CHARS - 1]}…"
