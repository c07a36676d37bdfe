"""Has a model note what lasts of what was said, and work these lines into MEMORY.md.

What is to be looked at is a wish in the session's row, written when a turn ends. The job, and how
far it goes, are written in one transaction, so that a kill neither loses nor doubles a look.

When that was tried last is stored, so neither a restart nor other settings begin the time anew.
Where the journal has no new line nothing is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from aouo.facts.address import Lane
from aouo.facts.errors import ToolFailed
from aouo.facts.events import Inbound, Report, Triggered
from aouo.facts.ids import ulid
from aouo.facts.languages import bundled
from aouo.facts.ports import Clock, iso
from aouo.facts.records import JournalLine
from aouo.facts.work import Job
from aouo.memory.edits import digest
from aouo.memory.keeping import Keeping
from aouo.plumbing.logs import log
from aouo.plumbing.web.envelope import said_by, source_in, still_untrusted
from aouo.schedules.ticking import RunEnd
from aouo.store import jobs, journal, sessions, turns
from aouo.store.database import Database, Tx
from aouo.store.journal import Owed

GAP = timedelta(minutes=10)
"""From a turn's end to the look at it, and at what is said until then."""
_MESSAGES_AT_ONCE, _MESSAGE_CHARS = 40, 800
_WITHIN_S = 120
_LATER = timedelta(hours=1)
"""The longest that a look is put off."""
_BATCH = 20
_LOOK_EVERY_S = 60.0
_WISHES: Mapping[str, str] = bundled("aouo.schedules", "prompts.yml")

Due: TypeAlias = Callable[[Tx, datetime], Sequence[Inbound]]
_May: TypeAlias = Callable[[str, Inbound], bool]
"""Whether notes are taken for a pack of what this person said."""
_Left: TypeAlias = Callable[[Tx], int]
"""The tokens that are left today, 0 = none, -1 = without a cap."""


@dataclass(slots=True, eq=False)
class Journaling:
    """Files a job for each session that is due; `trigger` is `Inbox.trigger`."""

    database: Database
    clock: Clock
    trigger: Callable[[Due], Awaitable[int]]
    may: _May
    left: _Left
    enabled: Callable[[], bool]
    owner: Callable[[], str]

    async def run(self) -> None:
        """Look for what is due, for ever."""
        while True:
            if self.enabled():
                now = self.clock.now()
                until = iso(now), iso(now + _LATER)
                if await self.database.read(lambda tx, until=until: journal.any_due(tx, *until)):
                    await self.trigger(self._due)
            await self.clock.sleep(_LOOK_EVERY_S)

    def _due(self, tx: Tx, now: datetime) -> list[Inbound]:
        found: list[Inbound] = []
        for wanted in journal.due(tx, iso(now), iso(now + _LATER), _BATCH):
            if jobs.any_open(tx, Lane(f"journal:{wanted.session_id}")) or self.left(tx) == 0:
                journal.postpone(tx, wanted.session_id, iso(now + _LATER))
                continue
            said = journal.said_after(tx, wanted.session_id, wanted.after, _MESSAGES_AT_ONCE)
            if not said or not self.may(wanted.pack, wanted.inbound):
                journal.postpone(tx, wanted.session_id, "")
                continue
            more = iso(now + GAP) if len(said) == _MESSAGES_AT_ONCE else ""
            journal.ask(tx, wanted.session_id, said[-1][0], more)
            inbound, theirs = wanted.inbound, dict[str, str]()
            if inbound.chat_kind != "private":
                own = (inbound.person.id, self.owner())
                theirs = turns.of_others(tx, wanted.session_id, own)
            read = sessions.named(tx, wanted.session_id).sources
            source = ", ".join(dict.fromkeys((*read, *theirs.values())))
            who = {"user": "the person", "assistant": "you"}
            lines = [
                f"{number}, {who[role]}: "
                f"{_quoted(text, source if role == 'assistant' else theirs.get(turn, ''))}"
                for number, role, text, turn in said
            ]
            found.append(_look_at(wanted, lines, now, max(0, self.left(tx))))
        return found


def _look_at(
    wanted: journal.ToNote, lines: Sequence[str], now: datetime, tokens_max: int
) -> Inbound:
    """Return the look at what was said, a line each."""
    mark = ulid()
    content = Triggered(
        trigger=wanted.session_id,
        name="journal",
        prompt="\n".join((_WISHES["journal"], f"<<{mark}>>", *lines, f"<<{mark}>>")),
        pack=wanted.pack,
        due_at=iso(now),
        timeout_s=_WITHIN_S,
        tokens_max=tokens_max,
    )
    inbound = wanted.inbound
    return Inbound(inbound.address, inbound.person, content, inbound.chat_kind, origin="journal")


def _quoted(text: str, source: str) -> str:
    """Return the beginning of a message, between marks if it has some or may repeat others."""
    line = _on_one_line(text)
    return still_untrusted(line, text) if source_in(text) else said_by(source, line)


def _on_one_line(text: str) -> str:
    """Return the beginning of a message without line breaks: no line of it looks like another
    message, with its number and who said it."""
    return " ".join(text[:_MESSAGE_CHARS].split())


def settle_journal(tx: Tx, job: Job, asked: Triggered, end: RunEnd, now: str) -> Report | None:
    """Settle a look: what was looked at is done with, unless the failure may be over later."""
    del job
    if end.status == "failed" and end.may_retry:
        journal.postpone(tx, asked.trigger, iso(datetime.fromisoformat(now) + _LATER))
    else:
        journal.done(tx, asked.trigger)
    return None


_LINES_AT_ONCE = 100
_FILE = "MEMORY.md"
_CONSOLIDATE_EVERY_S = 300.0


@dataclass(slots=True, eq=False)
class Consolidating:
    """Files a job for each tenant of a pack that is due; `trigger` is `Inbox.trigger`."""

    database: Database
    clock: Clock
    trigger: Callable[[Due], Awaitable[int]]
    keeping: Keeping
    may: _May
    left: _Left
    enabled: Callable[[], bool]
    every_s: Callable[[], float]

    async def run(self) -> None:
        """Look for what is due, for ever."""
        while True:
            if self.enabled():
                await self._look()
            await self.clock.sleep(min(_CONSOLIDATE_EVERY_S, self.every_s()))

    async def _look(self) -> None:
        now = self.clock.now()
        until = iso(now - timedelta(seconds=self.every_s())), iso(now)
        for owed in await self.database.read(lambda tx: journal.owed(tx, *until)):
            if not self.may(owed.pack, owed.inbound):
                continue
            try:
                text = await self._text_of(owed)
            except (ToolFailed, OSError) as error:  # the others' notes do not wait for that
                log.info("memory_unreadable", pack=owed.pack, owner=owed.owner, why=str(error))
                continue

            def due(tx: Tx, now: datetime, owed: Owed = owed, text: str = text) -> list[Inbound]:
                return self._ask(tx, owed, text, now)

            await self.trigger(due)

    async def _text_of(self, owed: Owed) -> str:
        """Raises: ToolFailed: the file cannot be read."""
        await self.keeping.settle_open(owed.pack, owed.owner)
        files = self.keeping.files(owed.pack, owed.owner)
        return await asyncio.to_thread(files.text, _FILE)

    def _ask(self, tx: Tx, owed: Owed, text: str, now: datetime) -> list[Inbound]:
        at_work = jobs.any_open(tx, Lane(f"consolidate:{_trigger(owed)}"))
        if at_work or self.left(tx) == 0:
            why = "the one before is at work" if at_work else "its tokens of today are used up"
            log.info("consolidation_left_out", pack=owed.pack, owner=owed.owner, why=why)
            return []
        lines = journal.oldest(tx, owed.pack, owed.owner, _LINES_AT_ONCE, after=owed.upto)
        if not lines:
            return []
        journal.ask_consolidation(tx, owed.pack, owed.owner, lines[-1].id, digest(text), iso(now))
        return [_work_in(owed, text, lines, now, max(0, self.left(tx)))]


def _trigger(owed: Owed) -> str:
    return f"{owed.pack}/{owed.owner}"


def _work_in(
    owed: Owed, text: str, lines: Sequence[JournalLine], now: datetime, tokens_max: int
) -> Inbound:
    mark = ulid()
    file = [f"{number}| {line}" for number, line in enumerate(text.splitlines(), start=1)]
    noted = [f"{line.id}, {line.day}, {line.basis}: {line.text}" for line in lines]
    told = (
        _WISHES["consolidation"],
        f"<<{mark}>>",
        f"{_FILE}:",
        *file,
        "Journal:",
        *noted,
        f"<<{mark}>>",
    )
    content = Triggered(
        trigger=_trigger(owed),
        name="consolidation",
        prompt="\n".join(told),
        pack=owed.pack,
        due_at=iso(now),
        timeout_s=_WITHIN_S,
        tokens_max=tokens_max,
    )
    inbound = owed.inbound
    return Inbound(
        inbound.address, inbound.person, content, inbound.chat_kind, origin="consolidate"
    )


def settle_consolidation(
    tx: Tx, job: Job, asked: Triggered, end: RunEnd, now: str
) -> Report | None:
    """Settle a consolidation: its lines are done with, unless it failed or the file was changed;
    then they wait for the next one."""
    del job, now
    if end.status == "done":
        pack, _, owner = asked.trigger.rpartition("/")
        journal.consolidated(tx, pack, owner)
    return None
