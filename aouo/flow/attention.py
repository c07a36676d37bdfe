"""Decides whether a report comes now or waits for a digest, and keeps those that wait."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

import structlog

from aouo.facts.events import Inbound, Report
from aouo.facts.ports import Rendered, iso
from aouo.facts.quiet_hours import AttentionRules
from aouo.packs.library import Library
from aouo.store import kept_reports, schedules
from aouo.store.database import Tx
from aouo.words import sentences

log = structlog.get_logger()


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
    if not messages or _is_asked_for(tx, inbound, report):
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
