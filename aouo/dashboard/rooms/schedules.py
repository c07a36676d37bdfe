"""Answers what begins by itself, and changes it as `aouo cron` does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from aouo.dashboard.access import Shown
from aouo.dashboard.endpoints import Endpoint, NotFound, number, phrase
from aouo.dashboard.tables import beginning
from aouo.facts.events import Triggered
from aouo.facts.ports import iso
from aouo.facts.schedule import ZoneOf, is_from_now, upcoming
from aouo.facts.work import Scheduled, ScheduleRun
from aouo.installer.verbs import home_verbs
from aouo.packs.format.manifest import Watch
from aouo.packs.load import Pack
from aouo.plumbing.control import Facts
from aouo.plumbing.redact import Redactor
from aouo.plumbing.zones import zone_of
from aouo.schedules.service import HISTORY, PROMPT_CHARS
from aouo.schedules.ticking import run_of
from aouo.schedules.watching import FAILURES
from aouo.store import watches
from aouo.words.catalogue import text
from aouo.words.schedules import actions, ended, line_of, moment_in_words, watch_fails, zone_name

_PAGE = 100
_ASKED_CHARS = 100_000


def schedules(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints about what begins by itself."""
    room = _Room(shown)
    return (
        Endpoint(
            "GET",
            "/api/schedules",
            room.listed,
            (
                phrase("pack", "Of this pack only."),
                number("skip", 0, 1_000_000, 0, "How many to leave out at the beginning."),
            ),
        ),
        Endpoint(
            "GET",
            "/api/schedules/{schedule}",
            room.one,
            (
                number("times", 1, 50, 5, "How many due times."),
                number("runs", 1, 500, HISTORY, "How many runs."),
            ),
        ),
        Endpoint("POST", "/api/schedules", room.add, body=True),
        Endpoint("POST", "/api/schedules/{schedule}/switch", room.switch, body=True),
        Endpoint("POST", "/api/schedules/{schedule}/run", room.run),
        Endpoint("DELETE", "/api/schedules/{schedule}", room.remove),
    )


@dataclass(slots=True, eq=False)
class _Room:
    shown: Shown

    async def listed(self, pack: str, skip: int) -> Facts:
        """The schedules, 100 of them: what comes next first; the watches; the heartbeat."""
        async with self.shown.snapshot() as snapshot:
            rows = await snapshot.ask(watches.listed_schedules(pack, skip, _PAGE + 1))
            watched = await snapshot.ask(watches.watched(pack))
        heartbeat = "" if pack else (await self.shown.status()).get("heartbeat", "")
        packs = [one for one in self.shown.library().packs.values() if pack in ("", one.name)]
        zones, redactor = self._zones(), self.shown.redactor()

        def told() -> Facts:
            return {
                "schedules": [_told(row, zones, redactor) for row in rows[:_PAGE]],
                "more": len(rows) > _PAGE,
                "watches": [
                    _watch(pack, watch, watched.get((pack.name, watch.id)))
                    for pack in packs
                    for watch in pack.manifest.watches
                ],
            }

        return {
            "running": not self._why_off,
            "off": self._why_off,
            "heartbeat": heartbeat,
            **await asyncio.to_thread(told),
        }

    async def one(self, schedule: str, times: int, runs: int) -> Facts:
        """One schedule: when it comes next, what it asks then, and its newest runs."""
        async with self.shown.snapshot() as snapshot:
            row = await snapshot.ask(watches.one_schedule(schedule))
            past = await snapshot.ask(watches.runs_of(schedule, runs + 1))
        if row is None:
            raise _gone()
        now, zones, redactor = self.shown.clock.now(), self._zones(), self.shown.redactor()

        def told() -> Facts:
            return {
                "schedule": _told(row, zones, redactor),
                **_coming(row, now, zones, times, redactor),
                "runs": [_run(run, turn) for run, turn in past[:runs]],
                "more": len(past) > runs,
            }

        return await asyncio.to_thread(told)

    async def add(self, pack: str, when: str, what: str, kind: str) -> Facts:
        """Make a schedule in a pack's chat on the page. `kind` is `say` (`what` comes as it is),
        `do` (it is an action of the pack) or `ask` (it is for a model)."""
        return await self._do(
            "cron_add",
            schedule=when,
            prompt=what,
            chat=f"web:{pack}",
            person=self.shown.owner().id,
            pack=pack,
            say=kind == "say",
            do=kind == "do",
        )

    async def switch(self, schedule: str, on: bool) -> Facts:
        """Switch a schedule on or off."""
        return await self._do("cron_switch", id=schedule, on=on)

    async def run(self, schedule: str) -> Facts:
        """File a run of a schedule; when it comes by itself stays as it is."""
        return {**await self._do("cron_run", id=schedule), "off": self._why_off}

    async def remove(self, schedule: str) -> Facts:
        """Remove a schedule and its history."""
        return await self._do("cron_remove", id=schedule)

    async def _do(self, name: str, **arguments: str | bool) -> Facts:
        """Do what `aouo cron` does. Raises: NotFound, and what the verb raises."""
        app = self.shown.bot.app
        verbs = home_verbs(app.packs, app.schedules, app.shared.database, app.shared.clock)
        facts = await verbs[name](**arguments)
        if facts["schedule"] is None:
            raise _gone()
        return facts

    @property
    def _why_off(self) -> str:
        """Why nothing begins by itself, "" = it does."""
        if self.shown.runtime is None:
            return text("schedules.no-bot")
        runs = self.shown.runtime.app.generations.now.cron.enabled
        return "" if runs else text("schedules.all-off")

    def _zones(self) -> ZoneOf:
        default: str = getattr(self.shown.zone(), "key", "")
        return lambda name: zone_of(name, default)


def _gone() -> NotFound:
    return NotFound(text("schedules.gone"))


def _told(row: Scheduled, zones: ZoneOf, redactor: Redactor) -> Facts:
    """Return a schedule as `aouo cron list --json` does, in words, and what may be done with it."""
    may = actions(row)
    return {
        **asdict(replace(row, prompt=_cut(redactor, row.prompt, PROMPT_CHARS))),
        "said": line_of(row, zones)._asdict(),
        "may": {
            "switch": "on" in may or "off" in may,
            "run": "run" in may,
            "remove": "remove" in may,
        },
    }


def _coming(row: Scheduled, now: datetime, zones: ZoneOf, most: int, redactor: Redactor) -> Facts:
    """Return the next due times, and what is asked then: as if it were on, if it is off."""
    if not row.enabled and is_from_now(row.text):
        row = replace(row, since=iso(now))
    zone = zones(row.zone)
    times = upcoming(row.text, row.since, now, zone, most)
    asked = run_of(row, iso(times[0]) if times else "").content
    assert isinstance(asked, Triggered)
    asked = replace(asked, prompt=_cut(redactor, asked.prompt, _ASKED_CHARS))
    return {
        "next": [{"at": iso(at), "said": moment_in_words(at, zone)} for at in times],
        "zone": zone_name(row, zones),
        "asks": asked,
    }


def _cut(redactor: Redactor, prompt: str, most: int) -> str:
    """Return a text of a pack or a backup, which have no limit for it, or its beginning."""
    left = len(prompt) - most
    if left <= 0:
        return prompt
    return text("schedules.cut", beginning=beginning(redactor, prompt, most), left=left)


def _run(run: ScheduleRun, turn: str) -> Facts:
    outcome = ended(run.state) if run.tries or run.state != "waiting" else text("schedules.filed")
    return {**asdict(run), "outcome": outcome, "turn": turn}


def _watch(pack: Pack, watch: Watch, found: tuple[int, str, str] | None) -> Facts:
    failures, why, next_look = found or (0, "", "")
    what = "rows" if watch.sql else "file" if watch.file else "url"
    if not pack.manifest.permissions.cron:
        said = text("unasked.watch-forbidden")
    elif failures:
        said = watch_fails(pack.name, watch.id, failures, why, is_off=failures >= FAILURES)
    else:
        said = text("unasked.watch-on" if found else "unasked.watch-new")
    return {
        "pack": pack.name,
        "id": watch.id,
        "every": watch.every,
        "looks_at": text(f"unasked.looks-{what}"),
        "failures": failures,
        "state": said,
        "next_look": next_look if failures < FAILURES else "",
    }
