"""A watch at one tenant's data: when it looks, at what, and what becomes of that."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from aouo.facts.address import Lane
from aouo.facts.errors import ToolFailed
from aouo.facts.events import Inbound, Report, Triggered
from aouo.facts.ports import iso
from aouo.facts.quiet_hours import span_s
from aouo.facts.work import Job
from aouo.packs.data.storage import PackStore
from aouo.packs.format.manifest import Manifest, Watch
from aouo.plumbing.children import Apart
from aouo.plumbing.web.addresses import Permits
from aouo.plumbing.web.client import Web, probe
from aouo.plumbing.web.envelope import untrusted
from aouo.schedules.ticking import SILENT, RunEnd, report_of
from aouo.store import turns, watches
from aouo.store.chats import tenant_of
from aouo.store.database import Tx
from aouo.store.watches import WatchState

_ROWS = 100
"""What is compared of a query's rows."""
_FILE_S = 5.0
_SEEN_CHARS = 8_000
_TOLD_CHARS = 3_000


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen: its hash, the beginning of it in words, and what a server knows it by."""

    digest: str
    text: str
    validator: str = ""


@dataclass(slots=True, eq=False)
class Looking:
    """Looks at what packs may look at, and nothing else.

    `refusal` says why a pack may not look at a file whose links are followed, "" = it may. A look
    at a file may take `file_s`; one that hangs in `apart` is not begun anew.
    """

    lent_store: Callable[[str, str], AbstractContextManager[PackStore]]
    web: Web
    refusal: Callable[[str, Path], str]
    apart: Apart
    file_s: float = _FILE_S

    async def look(
        self, manifest: Manifest, watch: Watch, tenant: str, validator: str
    ) -> Seen | None:
        """Look once; None = the server says that nothing has changed since `validator`.

        Raises:
            ToolFailed: it cannot be seen, or may not be; says why.
        """
        if watch.url:
            permits = Permits(manifest.name, manifest.permissions.network)
            probed = await probe(self.web, watch.url, permits, validator)
            return probed and Seen(probed[0], "", probed[1])
        if watch.file:
            return await self._file_in_time(manifest.name, watch)
        return await asyncio.to_thread(self._rows, manifest.name, tenant, watch.sql)

    def _rows(self, pack: str, tenant: str, sql: str) -> Seen:
        with self.lent_store(pack, tenant) as store:
            found = store.glance(sql, limit=_ROWS)
        lines = [json.dumps(row, ensure_ascii=False) for row in found.rows]
        if found.more:
            lines.append("…")
        text = "\n".join(lines)
        seen = text if len(text) <= _SEEN_CHARS else text[:_SEEN_CHARS].rpartition("\n")[0]
        return Seen(_hash(text), seen)

    async def _file_in_time(self, pack: str, watch: Watch) -> Seen:
        """Look at a file; on a mount whose server is gone it holds a thread for ever."""
        key = (pack, watch.id, watch.file)
        try:
            return await self.apart.run(key, partial(self._file, pack, watch.file), self.file_s)
        except TimeoutError:
            why = "its disk does not answer"
        except RuntimeError as error:
            why = str(error)
        raise ToolFailed(f"{watch.file} cannot be looked at: {why}.")

    def _file(self, pack: str, text: str) -> Seen:
        try:
            path = Path(text).expanduser().resolve()
            if why := self.refusal(pack, path):
                raise ToolFailed(why)
            found = path.stat()
        except FileNotFoundError:
            return Seen(_hash(""), "no such file")
        except (OSError, RuntimeError, ValueError) as error:
            raise ToolFailed(f"{text} cannot be looked at: {error}.") from error
        return Seen(
            _hash(f"{found.st_mtime_ns} {found.st_size}"),
            f"{found.st_size:,} bytes, changed at {_moment(found.st_mtime)}",
        )


def _change_line(watch: Watch, before: str, after: str) -> str:
    """Say for the model what has changed; rows may be anybody's words, so they stand in marks."""
    if watch.url:
        return f"[what is at {watch.url} has changed]"
    if watch.file:
        return f"[{watch.file} has changed. Before: {before}. Now: {after}]"
    old, new = before.splitlines(), after.splitlines()
    gone = [f"- {line}" for line in old if line not in new]
    came = [f"+ {line}" for line in new if line not in old]
    told = "\n".join([*gone, *came] or ["the order of the rows"])
    if len(told) > _TOLD_CHARS:
        told = f"{told[:_TOLD_CHARS]}…"
    rows = untrusted(told, "rows of the pack's data")
    return f"[rows have changed: those with - are gone, those with + are new]\n{rows}"


def source_of(watch: Watch) -> str:
    """Return what identifies what a watch looks at."""
    return _hash(json.dumps([watch.sql, watch.file, watch.url]))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _moment(seconds: float) -> str:
    return iso(datetime.fromtimestamp(seconds, UTC))


ORIGIN = "watch"
_LONGEST = timedelta(days=1)
_WHO = (
    "[a watch of the app runs this by itself; nobody is there to answer questions. Your answer "
    f"goes to the person. If there is nothing to tell them, answer {SILENT} and nothing else]"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """One watch at one tenant's data, and what it saw last."""

    manifest: Manifest
    watch: Watch
    state: WatchState

    @property
    def every(self) -> timedelta:
        return timedelta(seconds=span_s(self.watch.every))

    @property
    def trigger(self) -> str:
        return f"{self.manifest.name}:{self.watch.id}"

    @property
    def lane(self) -> Lane:
        return Lane(f"{ORIGIN}:{self.trigger}")

    @property
    def pause(self) -> timedelta:
        """From one look to the next: the longer, the more often it failed in a row."""
        return min(self.every * 2**self.state.failures, max(self.every, _LONGEST))

    def is_due(self, now: datetime, by: datetime) -> bool:
        """Whether it looks at `now`, where it would look until `by`; also if it would look later
        than its pause lets it, since the clock was ahead when that was written."""
        return not iso(by) < self.state.next_look <= iso(now + self.pause)

    def as_stored(self, stored: WatchState | None) -> Wanted:
        """Return it with what is stored now, which a turn or a reload may have changed; of another
        source nothing is kept."""
        source = self.state.source
        if stored is None or stored.source != source:
            stored = WatchState(self.state.key, source)
        return replace(self, state=stored)

    def until(self, next_look: datetime) -> Wanted:
        return replace(self, state=replace(self.state, next_look=iso(next_look)))

    def run_in(self, place: Inbound, seen: Seen, due_at: str) -> Inbound:
        """Return what a change asks for in a place."""
        watch, pack = self.watch, self.manifest.name
        skill = f"{pack}:{watch.skill.removeprefix(f'{pack}:')}" if watch.skill else ""
        content = Triggered(
            trigger=self.trigger,
            name=watch.id.replace("-", " ").replace("_", " "),
            prompt=watch.prompt or f"[use the skill {watch.skill}]",
            pack=pack,
            skill=skill,
            due_at=due_at,
            about=(_WHO, _change_line(watch, self.state.seen, seen.text)),
        )
        return replace(place, content=content)


def settle_watch(tx: Tx, job: Job, asked: Triggered, end: RunEnd, now: str) -> Report | None:
    """Settle the turn of a change: silence is told to nobody, nor is that a person stopped it.

    A turn that changed something itself may have changed what is looked at, and would begin the
    next one, without end: then what is seen next is no change.
    """
    del now
    if turns.effects(tx, end.turn_id):
        pack, watch = asked.trigger.split(":", 1)
        watches.forget_seen(tx, pack, watch, tenant_of(tx, job.inbound, pack))
    is_silent = end.status == "done" and not end.spoke and end.text.strip() in ("", SILENT)
    if is_silent or end.status == "stopped":
        return None
    return report_of(asked, end)
