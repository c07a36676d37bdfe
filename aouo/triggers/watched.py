"""A watch at one tenant's data: when it looks, what its turn is asked, and what becomes of that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from aouo.facts.address import Lane
from aouo.facts.events import Inbound, Report, Triggered
from aouo.facts.ports import iso
from aouo.facts.spans import span_s
from aouo.facts.work import Job
from aouo.packs.format.manifest import Manifest, Watch
from aouo.store import turns, watches
from aouo.store.database import Tx
from aouo.store.tenants import tenant_of
from aouo.store.watches import WatchState
from aouo.triggers.looking import Seen, change_line
from aouo.triggers.runs import SILENT, RunEnd, report_of

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
        return _trigger_of(self.manifest.name, self.watch.id)

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
            about=(_WHO, change_line(watch, self.state.seen, seen.text)),
        )
        return replace(place, content=content)


def _trigger_of(pack: str, watch: str) -> str:
    """Return the id of a watch, once in this home."""
    return f"{pack}:{watch}"


def settle_watch(tx: Tx, job: Job, asked: Triggered, end: RunEnd, now: str) -> Report | None:
    """Settle the turn of a change: silence is told to nobody, nor is that a person stopped it.

    A turn that changed something itself may have changed what is looked at, and would begin the
    next one, without end: then what is seen next is no change.
    """
    del now
    if turns.effects(tx, end.turn_id):
        pack, watch = asked.trigger.split(":", 1)
        watches.forget_seen(tx, pack, watch, tenant_of(tx, job.inbound))
    is_silent = end.status == "done" and not end.spoke and end.text.strip() in ("", SILENT)
    if is_silent or end.status == "stopped":
        return None
    return report_of(asked, end)
