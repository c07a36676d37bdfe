"""Decides whether a report comes now or waits, and sends what waited as a digest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import partial
from itertools import groupby

from aouo.facts.events import Inbound, Report
from aouo.facts.ports import Clock, Rendered, iso
from aouo.facts.quiet_hours import AttentionRules
from aouo.facts.work import Delivery
from aouo.outbound.outbox import Outbox
from aouo.packs.library import Library
from aouo.plumbing.logs import log
from aouo.store import deliveries, kept_reports, schedules
from aouo.store.database import Database, Tx
from aouo.store.kept_reports import KeptReport
from aouo.words import sentences
from aouo.words.catalogue import speaking
from aouo.words.turns import digest


def holds(
    tx: Tx,
    inbound: Inbound,
    report: Report,
    messages: Sequence[Rendered],
    now: str,
    *,
    rules: AttentionRules,
    zone: tzinfo,
    library: Library,
) -> bool:
    """Whether `messages` of a report are not to be sent, because they are too much or come in quiet
    hours: they are kept for a digest then.

    A person counts by the id in whose name a run began; days and hours are those of `zone`.
    """
    if not messages or report.due_at or _is_asked_for(tx, inbound, report):
        return False
    moment, person = datetime.fromisoformat(now), inbound.person.id
    day = moment.astimezone(zone).date().isoformat()
    sent = kept_reports.sent_on(tx, person, day)
    always = _can_wait(inbound, report, library)
    due = rules.digest_due(moment, zone, sent=sent, always=always)
    if due is None:
        kept_reports.count(tx, person, day)
        return False
    kept_reports.keep(
        tx,
        person,
        inbound.address,
        _name(report, library),
        sentences.run_failed(report.text) if report.failed else report.text,
        messages,
        iso(due),
        now,
        turn_id=report.turn_id,
        sent=sent,
        always=always,
    )
    log.info("report_kept", origin=inbound.origin, trigger=report.trigger, due=iso(due))
    return True


def _name(report: Report, library: Library) -> str:
    """What a report comes from; with its pack, if there are several, as in its message."""
    several = len(library.names) > 1
    return f"{report.pack} · {report.name}" if several and report.pack else report.name


def _can_wait(inbound: Inbound, report: Report, library: Library) -> bool:
    """Whether it comes from a watch that its pack calls quiet."""
    pack = library.get(report.pack) if inbound.origin == "watch" else None
    key = report.trigger.partition(":")[2]
    return pack is not None and any(
        watch.quiet for watch in pack.manifest.watches if watch.id == key
    )


def _is_asked_for(tx: Tx, inbound: Inbound, report: Report) -> bool:
    """Whether a person wanted this at this time: it answers their command, they had it run now, or
    it comes from a schedule that was made for them, not from one that a pack brought."""
    if inbound.origin == "command" or report.asked_for:
        return True
    row = schedules.get(tx, report.trigger) if inbound.origin == "cron" else None
    return row is not None and row.origin != "default"


@dataclass(slots=True, eq=False)
class Digests:
    """Folds what is due; `listed` says who may still be talked to, `language` in which one.

    What is due and its message are one transaction: a kill loses none and sends none twice.
    """

    database: Database
    clock: Clock
    outbox: Outbox
    rules: Callable[[], AttentionRules]
    zone: Callable[[], tzinfo]
    listed: Callable[[str], bool]
    longest_s: Callable[[], float]
    language: Callable[[str], str]

    async def run(self) -> None:
        """Send what is due, for ever; with other rules, or at a start, plan first what waits."""
        planned: tuple[AttentionRules, tzinfo] | None = None
        while True:
            if planned != (by := (self.rules(), self.zone())):
                if await self.database.read(kept_reports.next_due):
                    await self.database.transact(partial(_plan, rules=by[0], zone=by[1]))
                planned = by
            wait_s = self.longest_s()
            if due := await self.database.read(kept_reports.next_due):
                left = datetime.fromisoformat(due) - self.clock.now()
                wait_s = min(wait_s, left.total_seconds())
            if wait_s <= 0:
                self.outbox.put(*await self.database.transact(self._fold, durable=True))
            else:
                await self.clock.sleep(wait_s)

    def _fold(self, tx: Tx) -> list[Delivery]:
        now, zone = self.clock.now(), self.zone()
        kept, quiet_until = kept_reports.due(tx, iso(now)), self.rules().quiet.end(now, zone)
        if quiet_until > now:
            for one in kept:
                kept_reports.plan(tx, one, iso(quiet_until))
            return []
        by_place = sorted(kept, key=_place)
        day = now.astimezone(zone).date().isoformat()
        return [
            row
            for _, found in groupby(by_place, _place)
            for row in self._of_place(tx, sorted(found, key=lambda one: one.id), day, iso(now))
        ]

    def _of_place(self, tx: Tx, kept: list[KeptReport], day: str, now: str) -> Iterable[Delivery]:
        """Send what waited for one person in one place: one as it is, several as a digest."""
        first, person = kept[0], kept[0].person
        if first.address.platform == "tg" and not self.listed(person):
            for one in kept:
                kept_reports.drop(tx, one)
            return []
        kept_reports.count(tx, person, day)
        log.info("digest_sent", reports=len(kept))
        if len(kept) == 1:
            kept_reports.drop(tx, first)
            return kept_reports.send(tx, first, now)
        for one in kept:
            kept_reports.told(tx, one, first.id)
        with speaking(self.language(person)):
            message = digest(
                [(one.name, one.text) for one in kept],
                first.id,
                more=any(_is_more(message) for one in kept for message in one.messages),
            )
        key = f"digest:{first.id}"
        newest = kept[-1].turn_id  # its words are forgotten with those of the last one
        return [deliveries.add(tx, first.address, "notice", message, now, turn_id=newest, key=key)]


def _plan(tx: Tx, *, rules: AttentionRules, zone: tzinfo) -> None:
    """Plan what waits as if it came anew, at its time, under these rules."""
    for one in kept_reports.everything(tx):
        came = datetime.fromisoformat(one.created_at)
        due = rules.digest_due(came, zone, sent=one.sent, always=one.always) or came
        kept_reports.plan(tx, one, iso(due))


def _place(kept: KeptReport) -> tuple[str, ...]:
    return (kept.person, *kept.address.columns)


def _is_more(message: Rendered) -> bool:
    """Whether a message is more than its words."""
    return bool(message.media or message.album or message.buttons)
