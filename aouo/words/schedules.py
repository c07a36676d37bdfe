"""Words schedules, their times and runs, and what is at work, with the buttons for them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Literal, NamedTuple, assert_never

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Report, Triggered
from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.schedule import (
    Cron,
    Every,
    NotASchedule,
    Once,
    Schedule,
    ZoneOf,
    is_from_now,
    parse,
    upcoming,
)
from aouo.facts.taps import encode
from aouo.facts.work import Scheduled, ScheduleRun, Working
from aouo.words.catalogue import cut, message, say, text

_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_UNITS = ((1440, "day"), (60, "hour"), (1, "minute"))
_ANY_DAY = datetime(2000, 1, 1, tzinfo=UTC)
_SHORT_DAYS = {name[:3].upper(): number for number, name in enumerate(_WEEKDAYS)}


def _in_words(schedule: Schedule, zone: tzinfo) -> str:
    """Return a schedule in words, its times local in `zone`."""
    match schedule:
        case Once(at):
            return text("schedules.w-once", moment=moment_in_words(at, zone))
        case Every(minutes, since, anchored):
            return _anchored(minutes, since.astimezone(zone)) if anchored else _each(minutes)
        case Cron(expression):
            return _cron_words(expression) or text("schedules.w-cron", expression=expression)
        case _:
            assert_never(schedule)


def _each(minutes: int) -> str:
    return text("schedules.w-each", span=_span(minutes).removeprefix("1 "))


def _anchored(minutes: int, at: datetime) -> str:
    """Return what comes every so many days or weeks, at a time of day that was named."""
    weeks, rest = divmod(minutes, _WEEK)
    if rest:
        return text("schedules.w-days-at", days=_each(minutes), when=f"{at:%H:%M}")
    day = text("schedules.w-weekdays").split()[at.isoweekday() % 7]
    return text("schedules.w-weeks-on", weeks=weeks, day=day, when=f"{at:%H:%M}")


def text_in_words(written: str, zone: tzinfo) -> str:
    """Return in words what a schedule will mean once it is made, for the question to allow it.

    Raises:
        NotASchedule: `written` is no schedule.
    """
    schedule = parse(written, _ANY_DAY, zone)
    if isinstance(schedule, Once) and is_from_now(written):
        minutes = int((schedule.at - _ANY_DAY).total_seconds()) // 60
        return text("schedules.w-once-after", span=_counted(minutes))
    return _in_words(schedule, zone)


def moment_in_words(moment: datetime, zone: tzinfo) -> str:
    """Return a moment as `Sunday 1 March 2026 at 09:00`."""
    at = moment.astimezone(zone)
    weekday = text("schedules.w-weekdays").split()[at.isoweekday() % 7]
    month = text("schedules.w-months").split()[at.month - 1]
    time = f"{at:%H:%M}"
    return text(
        "schedules.w-moment", weekday=weekday, day=at.day, month=month, year=at.year, time=time
    )


def _counted(minutes: int) -> str:
    """Return a span with its number: `1 day`."""
    said = _span(minutes)
    return said if said[0].isdigit() else f"1 {said}"


def _span(minutes: int) -> str:
    """Return a span as it follows `every`: `day`, `2 hours`."""
    size, unit = next((size, unit) for size, unit in _UNITS if minutes % size == 0)
    return text(f"schedules.span-{unit}", count=minutes // size)


def _cron_words(expression: str) -> str:
    """Return the common patterns in words; "" for the others."""
    minute, hour, day, month, weekday = expression.split()
    if not (when := _time(minute, hour)):
        return ""
    if month.isdigit() and day.isdigit() and weekday == "*":
        name = text("schedules.w-months").split()[int(month) - 1]
        return text("schedules.w-yearly", day=int(day), month=name, when=when)
    if month != "*":
        return ""
    if hour == "*":
        return when if (day, weekday) == ("*", "*") else ""
    if day == "*" and (nths := _nths(weekday)):
        return text("schedules.w-nth", days=nths, when=when)
    if weekday == "*" and day == "LW":
        return text("schedules.w-last-workday", when=when)
    if day == "*" and (days := _days(weekday)):
        return text("schedules.w-days-at", days=days, when=when)
    if weekday == "*" and day.isdigit():
        return text("schedules.w-monthday", day=int(day), count=int(day), when=when)
    if weekday == "*" and day == "L":
        return text("schedules.w-month-end", when=when)
    return ""


def _time(minute: str, hour: str) -> str:
    if minute.isdigit() and all(part.isdigit() for part in hour.split(",")):
        return _listed([f"{int(part):02}:{int(minute):02}" for part in hour.split(",")])
    if hour != "*":
        return ""
    if minute.isdigit():
        past = int(minute)
        return text("schedules.w-hourly-past", minutes=past) if past else text("schedules.w-hourly")
    if minute == "*":
        return text("schedules.w-every-minute")
    step = minute.removeprefix("*/")
    return text("schedules.w-every-minutes", step=step) if step.isdigit() and step != "1" else ""


def _days(field: str) -> str:
    if field == "*":
        return text("schedules.w-every-day")
    if field in ("1-5", "MON-FRI"):
        return text("schedules.w-workdays")
    days = [_weekday(part) for part in field.split(",")]
    return text("schedules.w-every", days=_listed(days)) if all(days) else ""


def _nths(field: str) -> str:
    """Return weekdays of a month in words: `first Monday`; "" = they are none."""
    said = text("schedules.w-nths").split()
    found = [re.fullmatch(r"(\w{1,3})(?:#([1-4])|(L))", part) for part in field.split(",")]
    days = [f"{said[int(one[2] or 5) - 1]} {_weekday(one[1])}" for one in found if one is not None]
    return _listed(days) if len(days) == len(found) else ""


def _weekday(part: str) -> str:
    number = _SHORT_DAYS.get(part, int(part) if part.isdigit() else -1)
    return text("schedules.w-weekdays").split()[number % 7] if number >= 0 else ""


def _listed(words: list[str]) -> str:
    """Return words as a list."""
    if len(words) == 1:
        return words[0]
    return text("schedules.w-and", some=", ".join(words[:-1]), last=words[-1])


_WEEK = 7 * 24 * 60
_SNOOZES = ("10m", "1h", "tomorrow")
"""How much later a reminder may come again."""
PAGE = 8
"""How many schedules one message shows."""
_WORKS_MAX = 20
_WHY_CHARS = 200
_LABEL_CHARS = 40


class _Line(NamedTuple):
    """A schedule in words, as chat, tool, terminal and page show it; `last` is how its newest run
    ended, "" = none has begun."""

    name: str
    when: str
    state: str
    last: str

    def __str__(self) -> str:
        return text("schedules.line", name=self.name, when=self.when, state=self.state)


def line_of(row: Scheduled, zone_of: ZoneOf) -> _Line:
    """Return a schedule in words."""
    zone = zone_of(row.zone)
    try:
        when = _in_words(parse(row.text, datetime.fromisoformat(row.since), zone), zone)
    except NotASchedule:
        when = row.text
    due = _at(row.next_due, zone)
    if row.paused == "proposed" and row.origin != "default":
        state = text("schedules.paused-restored")
    elif row.paused or not due:
        state = text(f"schedules.paused-{row.paused or 'over'}")
    else:
        state = text("schedules.on" if due in when else "schedules.on-next", due=due)
    named = f"{when} ({row.zone})" if row.zone else when
    return _Line(row.title, named, state, ended(row.last_state))


def ended(state: str) -> str:
    """Return how a run ended, "" = there is none."""
    return text(f"schedules.ended-{state}") if state else ""


def actions(row: Scheduled) -> list[str]:
    """Return what can be done with a schedule, as verbs of /cron."""
    switch = [] if row.paused in ("over", "permission") else ["on" if row.paused else "off"]
    run = [] if row.paused == "permission" else ["run"]
    return [*switch, *run, "history", *([] if row.key else ["remove"])]


def zone_name(row: Scheduled, zone_of: ZoneOf) -> str:
    """Return the name of the zone that a schedule runs in; this machine's may have none."""
    zone = zone_of(row.zone)
    if name := getattr(zone, "key", None):
        return name
    offset = datetime.fromisoformat(row.since).astimezone(zone).strftime("%z")
    return "UTC" if offset == "+0000" else f"UTC{offset[:3]}:{offset[3:]}"


def next_times(row: Scheduled, now: datetime, zone_of: ZoneOf) -> list[str]:
    """Return the next three due times of a schedule."""
    zone = zone_of(row.zone)
    return [moment_in_words(at, zone) for at in upcoming(row.text, row.since, now, zone)]


def made(row: Scheduled, now: datetime, zone_of: ZoneOf) -> str:
    """Return what was made, and when it comes next."""
    times, zone = next_times(row, now, zone_of), zone_name(row, zone_of)
    if not times:
        coming = [text("schedules.comes-never")]
    elif len(times) == 1:
        coming = [text("schedules.comes-once", time=times[0], zone=zone)]
    else:
        coming = [text("schedules.comes", zone=zone), *(f"• {time}" for time in times)]
    return "\n".join([f"{line_of(row, zone_of)}.", *coming])


def made_here(row: Scheduled, now: datetime, zone_of: ZoneOf, *, off: bool) -> Rendered:
    """Return the answer to `/cron add`; `off`: no schedule runs."""
    notes = [text("schedules.all-off")] if off else []
    return message("\n".join([made(row, now, zone_of), *notes]), _buttons("", row))


def reminder_made(
    row: Scheduled, when: str, now: datetime, zone_of: ZoneOf, *, off: bool
) -> Rendered:
    """Return the answer to "remind me …"; `when` is the next time in words."""
    zone, remove = zone_name(row, zone_of), text("schedules.button-remove")
    if len(next_times(row, now, zone_of)) > 1:
        again = line_of(row, zone_of).when
        told = text("schedules.reminder-again", say=row.say, when=when, zone=zone, text=again)
    else:
        told = text("schedules.reminder", say=row.say, when=when, zone=zone)
    notes = [text("schedules.all-off")] if off else []
    return message("\n".join([told, *notes]), [ButtonSpec(remove, _cron("remove", row.id))])


def reminder(said: str, schedule: str, due_at: str) -> Rendered:
    """Return a reminder as it comes, with what can be done about it."""
    due = int(datetime.fromisoformat(due_at).timestamp())
    done = ButtonSpec(text("schedules.button-done"), _cron("done", schedule, due))
    later = [
        ButtonSpec(text(f"schedules.button-snooze-{span}"), _cron("snooze", schedule, due, span))
        for span in _SNOOZES
    ]
    return message(said, [done], later)


def restored(rows: Sequence[Scheduled]) -> Rendered:
    """Say which schedules of a conversation a restored backup has switched off."""
    shown = [
        ButtonSpec(text("schedules.restored-on", name=row.title), _cron("on", row.id))
        for row in rows[:PAGE]
    ]
    return message(text("schedules.restored", many=len(rows)), *([button] for button in shown))


def listed(
    rows: Sequence[Scheduled],
    zone_of: ZoneOf,
    *,
    here: str,
    page: int = 0,
    said: str = "",
    forbidden: str = "",
    off: bool = False,
) -> Rendered:
    """Return a page, from 0, of the answer to `/cron`; the pack `here` is not named.

    `said` comes above, `forbidden` is the name of a pack that may have none, `off`: none runs.
    """
    above = [said] if said else []
    notes = [text("schedules.may-not", pack=forbidden)] if forbidden else []
    if not rows:
        return message("\n".join([*above, *(notes or [text("schedules.none")])]))
    pages = -(-len(rows) // PAGE)
    page = min(page, pages - 1)
    if pages > 1:
        above.append(text("schedules.head-page", page=page + 1, pages=pages))
    else:
        above.append(text("schedules.head"))
    shown = list(enumerate(rows, start=1))[page * PAGE : (page + 1) * PAGE]
    lines = [_numbered(number, row, zone_of, here) for number, row in shown]
    notes += [text("schedules.all-off")] if off else []
    buttons = [_buttons(f"{number}: ", row) for number, row in shown]
    turns = [("◀", page - 1)] * (page > 0) + [("▶", page + 1)] * (page + 1 < pages)
    if turns:
        buttons.append([ButtonSpec(label, _cron("page", to + 1)) for label, to in turns])
    return message("\n".join([*above, *lines, *(["", *notes] if notes else [])]), *buttons)


def removal_asked(row: Scheduled, zone_of: ZoneOf) -> Rendered:
    """Return the question whether to remove a schedule."""
    name, when, *_ = line_of(row, zone_of)
    yes = ButtonSpec(text("schedules.button-sure"), _cron("remove", row.id))
    no = ButtonSpec(text("schedules.button-keep"), _cron("list"))
    return say("schedules.remove", [yes, no], name=name, when=when)


def history(row: Scheduled, runs: Sequence[ScheduleRun], zone_of: ZoneOf) -> str:
    """Return a schedule and its newest runs, a line each."""
    zone = zone_of(row.zone)
    lines = [_past_run(run, zone) for run in runs] or [text("schedules.run-none")]
    return "\n".join([f"{line_of(row, zone_of)}.", *lines])


def history_here(row: Scheduled, runs: Sequence[ScheduleRun], zone_of: ZoneOf) -> Rendered:
    """Return the answer to `/cron history`."""
    back = ButtonSpec(text("schedules.button-all"), _cron("list"))
    return message(history(row, runs, zone_of), _buttons("", row), [back])


def at_work(
    works: Sequence[Working],
    mine: Collection[int],
    coming: Sequence[Scheduled],
    zone_of: ZoneOf,
    *,
    here: ConversationAddress,
    asked: Literal["", "stopped", "over", "not-yours"],
    waiting: int,
    kept: int,
    until: str,
) -> Rendered:
    """Return the answer to `/jobs`: who asks in the conversation `here` may stop those in `mine`.

    `asked` is what became of one that was to be stopped, `kept` results wait for the digest of
    `until`.
    """
    shown, zone = works[:_WORKS_MAX], zone_of("")
    lines = [text(f"work.asked-{asked}")] if asked else []
    if not shown and asked != "stopped":
        lines.append(text("work.none"))
    lines += [_work(work, zone, here) for work in shown]
    if len(works) > len(shown):
        lines.append(text("work.more", more=len(works) - len(shown)))
    if waiting:
        lines.append(text("work.waiting", count=waiting))
    if kept:
        lines.append(text("work.kept", count=kept, until=_at(until, zone)))
    if coming:
        nexts = [f"• {row.title}, {_at(row.next_due, zone_of(row.zone))}" for row in coming]
        lines += ["", text("work.next"), *nexts]
    labels = {work.id: cut(_name(work), _LABEL_CHARS) for work in shown if work.id in mine}
    stops = [
        [ButtonSpec(text("work.button-stop", name=label), encode("command", f"jobs stop {job_id}"))]
        for job_id, label in labels.items()
    ]
    return message("\n".join(lines), *stops)


def watch_fails(pack: str, watch: str, failures: int, why: str, *, is_off: bool) -> str:
    """Return what the owner reads of a watch that failed so often in a row; `is_off`: it does not
    look any more."""
    how = "off" if is_off else "often" if failures > 1 else "once"
    return text(f"unasked.watch-fails-{how}", pack=pack, watch=watch, failures=failures, why=why)


def _at(stored: str, zone: tzinfo) -> str:
    """Return a stored moment in words, "" = there is none."""
    return moment_in_words(datetime.fromisoformat(stored), zone) if stored else ""


def _numbered(number: int, row: Scheduled, zone_of: ZoneOf, here: str) -> str:
    line, at = line_of(row, zone_of), _at(row.last_due, zone_of(row.zone))
    return text(
        "schedules.row",
        number=number,
        name=line.name,
        pack=f" ({row.pack})" if row.pack not in ("", here) else "",
        when=line.when,
        state=line.state,
        last=text("schedules.last", at=at, state=line.last) if line.last else "",
    )


def _buttons(number: str, row: Scheduled) -> list[ButtonSpec]:
    """Return the buttons of what can be done with a schedule."""
    return [
        ButtonSpec(
            f"{number}{text(f'schedules.button-{action}')}",
            _cron("remove?" if action == "remove" else action, row.id),
        )
        for action in actions(row)
    ]


def _cron(*words: object) -> str:
    """Return the data of a button that says `/cron`."""
    return encode("command", " ".join(map(str, ("cron", *words))))


def _past_run(run: ScheduleRun, zone: tzinfo) -> str:
    why = f": {cut(run.why, _WHY_CHARS)}" if run.why and run.state not in ("busy", "done") else ""
    return text(
        "schedules.run",
        at=_at(run.due_at, zone),
        state=ended(run.state),
        tries=text("schedules.run-tries", tries=run.tries) if run.tries > 1 else "",
        missed=text("schedules.run-missed", missed=run.missed) if run.missed else "",
        why=why,
    )


def _name(work: Working) -> str:
    content, person = work.inbound.content, work.inbound.person
    is_run = isinstance(content, Triggered | Report)
    return content.name if is_run else person.name or person.id


def _work(work: Working, zone: tzinfo, here: ConversationAddress) -> str:
    inbound = work.inbound
    is_run = isinstance(inbound.content, Triggered | Report)
    chat = inbound.group or inbound.person.name or inbound.address.chat_id
    return text(
        "work.run" if is_run else "work.answer",
        name=_name(work),
        since=f"{datetime.fromisoformat(work.since).astimezone(zone):%H:%M}",
        where=text("work.where", chat=chat) if inbound.address != here else "",
    )
