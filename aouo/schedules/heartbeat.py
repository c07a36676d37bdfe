"""Lets the agent look at `HEARTBEAT.md` now and then, and tell its owner what needs them.

An empty file costs nothing: no model is asked. A tick and its job are one transaction, so that
neither a restart nor a reload begins the interval anew.
"""

from __future__ import annotations

import re
import string
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Literal

from aouo.config.sections import Heartbeat as Settings
from aouo.facts.address import ConversationAddress, Lane
from aouo.facts.events import Inbound, Person, Report, Triggered
from aouo.facts.people import Owner
from aouo.facts.ports import Clock, iso
from aouo.facts.work import Job
from aouo.plumbing.logs import log
from aouo.schedules.ticking import SILENT, Due, RunEnd, report_of
from aouo.store import jobs, usage, watches
from aouo.store.database import Database, Tx

NAME = "heartbeat"
_OK = "HEARTBEAT_OK"
"""An answer that is this alone is not sent."""
_FILE_BYTES = 16 * 1024
"""What is read of the file."""
_LANE = Lane(f"{NAME}:{NAME}")
_COMMENT = re.compile(r"<!--.*?(-->|\Z)", re.DOTALL)
_HEADING = re.compile(r"#{1,6}(\s.*)?")
_AROUND = string.punctuation + string.whitespace + "…✅👍"
_WHO = (
    "[this is a heartbeat: you look by yourself, and nobody is there to answer questions. Below "
    "are the notes of your owner on what to look at. Your answer goes to them. If nothing needs "
    f"their attention now, answer {_OK} and nothing else]"
)


@dataclass(slots=True, eq=False)
class Heartbeat:
    """Files a job for each tick, where the owner is told what nobody asked for; see `told_in`.

    `trigger` is `Inbox.trigger`; `capped` is told on each tick that the day's cap prevents.
    """

    database: Database
    clock: Clock
    trigger: Callable[[Due], Awaitable[int]]
    file: Path
    settings: Callable[[], Settings]
    zone: Callable[[], tzinfo]
    owner: Callable[[], Owner]
    telegram: bool
    longest_s: Callable[[], float]
    capped: Callable[[int], Awaitable[None]]

    @property
    def state(self) -> str:
        """Say in a few words whether it looks, for `aouo status`."""
        settings = self.settings()
        if not settings.enabled:
            return "off"
        if self._chat() is None:
            return "off: the owner has no private chat with the bot"
        if not _to_do(self._read()):
            return f"on, and there is nothing in {self.file.name}"
        quiet = settings.quiet.is_quiet(self.clock.now(), self.zone())
        return f"on, every {settings.every}{', but in quiet hours now' if quiet else ''}"

    async def run(self) -> None:
        """Tick, for ever."""
        while True:
            wait_s = self.longest_s()
            if self.settings().enabled and self._chat():
                due = await self._next()
                wait_s = min(wait_s, (due - self.clock.now()).total_seconds())
                if wait_s <= 0:
                    await self._tick()
                    continue
            await self.clock.sleep(wait_s)

    async def _next(self) -> datetime:
        """Return when it is due next: an interval after the last time, and not in quiet hours."""
        settings, now = self.settings(), self.clock.now()
        last = await self.database.read(lambda tx: watches.last_tick(tx, NAME))
        if not last or (since := datetime.fromisoformat(last)) > now:  # the clock was set back
            since = now
            await self.database.transact(lambda tx: watches.note_tick(tx, NAME, iso(now)))
        due = since + timedelta(seconds=settings.every_s)
        return due if due > now else settings.quiet.end(now, self.zone())

    async def _tick(self) -> None:
        notes = _to_do(self._read())
        why_not: list[str] = []

        def due(tx: Tx, now: datetime) -> list[Inbound]:
            if self.settings().quiet.is_quiet(now, self.zone()):  # since we looked
                return []
            watches.note_tick(tx, NAME, iso(now))
            found = self._found(tx, notes, now) if notes else ""
            if isinstance(found, Inbound):
                return [found]
            why_not[:] = [found]
            return []

        begun = await self.trigger(due)
        if why_not == ["busy"]:
            log.info("heartbeat_busy", why="previous tick still running")
        elif why_not == ["cap"]:
            log.info("heartbeat_capped", daily_tokens_max=self.settings().daily_tokens_max)
            await self.capped(self.settings().daily_tokens_max)
        else:
            log.debug("heartbeat", asked=bool(begun))

    def _found(self, tx: Tx, notes: str, now: datetime) -> Inbound | Literal["", "busy", "cap"]:
        """Return the job of a tick, or why there is none; "" = nobody is to be told."""
        if jobs.any_open(tx, _LANE):
            return "busy"
        day = now.astimezone(self.zone()).date().isoformat()
        left = usage.left_of_origin(tx, day, NAME, self.settings().daily_tokens_max)
        if not left:
            return "cap"
        chat = self._chat()
        if chat is None:
            return ""
        content = Triggered(
            NAME, "Heartbeat", notes, due_at=iso(now), about=(_WHO,), tokens_max=max(0, left)
        )
        person = Person(self.owner().person.id)
        return Inbound(chat, person, content, origin=NAME)

    def _chat(self) -> ConversationAddress | None:
        return self.owner().told_in(telegram=self.telegram)

    def _read(self) -> str:
        try:
            with self.file.open("rb") as file:
                return file.read(_FILE_BYTES).decode("utf-8", "replace")
        except OSError:
            return ""


def _to_do(text: str) -> str:
    """Return the notes of a `HEARTBEAT.md`, "" = none: only headings, comments and blank lines."""
    text = _COMMENT.sub("", text)
    lines = (line.strip() for line in text.splitlines())
    return text.strip() if any(line and not _HEADING.fullmatch(line) for line in lines) else ""


def _is_ok(text: str) -> bool:
    """Whether an answer says only that all is well: the token, whatever marks stand around it."""
    return text.strip() == SILENT or text.replace("\\", "").strip(_AROUND).upper() in ("", _OK)


def settle_heartbeat(tx: Tx, job: Job, asked: Triggered, end: RunEnd, now: str) -> Report | None:
    """Settle a tick: silence is told to nobody, and a failure only if the tick before had none."""
    del job, now
    ok = end.status == "done" and not end.spoke and _is_ok(end.text)
    before = watches.settle_tick(tx, NAME, "silent" if ok else end.status)
    log.info("heartbeat_done", state="silent" if ok else end.status)
    if ok or end.status == "stopped" or (end.status == before == "failed"):
        return None
    text = "" if _is_ok(end.text) else end.text
    # History need not say each time what the notes are.
    return report_of(replace(asked, prompt=""), replace(end, text=text))
