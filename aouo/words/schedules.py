"""Words what begins by itself and what is at work, with the buttons that change it."""

from __future__ import annotations

from typing import assert_never

from aouo.facts.notices_schedules import (
    PAGE,
    AtWork,
    PastRun,
    RemovalAsked,
    ScheduleHistory,
    ScheduleLine,
    ScheduleMade,
    ScheduleNotice,
    ScheduleRefusal,
    Schedules,
    WorkLine,
)
from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.taps import encode
from aouo.words.saying import cut, say

ALL_OFF = "Nothing begins by itself now: the owner has switched schedules off (cron.enabled)."
_NONE = (
    "There are no schedules here. Ask for one in your own words, or write it like this: "
    '/cron add "every day at 9:00" Tell me what is on today'
)
_WORKS_MAX = 20
_WHY_CHARS = 200
_LABEL_CHARS = 40
_PAUSED = {
    "proposed": "off, as its pack proposes it",
    "permission": "off: the pack may not use schedules any more",
    "over": "over",
    "unlisted": "off: the person it is for was taken off my list",
    "unreadable": "off: its time cannot be read any more",
}
_STATES = {
    "waiting": "under way",
    "done": "done",
    "silent": "nothing to tell",
    "failed": "failed",
    "stopped": "stopped",
    "missed": "nothing ran",
    "busy": "left out, the run before was not over",
}


_ASKED = {
    "stopped": "I am stopping it.",
    "over": "That is over already.",
    "not yours": "Only the person it is for and the owner can stop that.",
}


def worded(notice: ScheduleNotice) -> Rendered:
    """Return the message for a notice, with its buttons."""
    match notice:
        case Schedules():
            return _listed(notice)
        case ScheduleMade(line, times, zone, off):
            said = [made(line), next_times(times, zone), *([ALL_OFF] if off else [])]
            return say("\n".join(said), *_buttons("", line))
        case ScheduleRefusal(why):
            return say(why)
        case RemovalAsked(line):
            yes = ButtonSpec("Remove it", _cron("remove", line.id))
            no = ButtonSpec("Keep it", _cron("list"))
            return say(f"Remove “{line.name}”, {line.when}, and its history?", [yes, no])
        case ScheduleHistory():
            return _history(notice)
        case AtWork():
            return _at_work(notice)
        case _:
            assert_never(notice)


def made(line: ScheduleLine) -> str:
    """Return what was made or changed, in one line."""
    return f"“{line.name}”, {line.when}: {state(line)}."


def next_times(times: tuple[str, ...], zone: str) -> str:
    """Return when a schedule comes next, in its zone."""
    if not times:
        return "It does not come again."
    if len(times) == 1:
        return f"It comes {times[0]} ({zone})."
    return "\n".join([f"The next times ({zone}):", *(f"• {time}" for time in times)])


def state(line: ScheduleLine) -> str:
    """Return whether a schedule is on, and when it comes next."""
    if line.paused:
        return _PAUSED.get(line.paused, "off")
    if line.due and line.due in line.when:  # once
        return "on"
    return f"on, next {line.due}" if line.due else "over"


def past_state(stored: str) -> str:
    """Return how a run ended."""
    return _STATES.get(stored, stored)


def past_run(run: PastRun) -> str:
    """Return one line of a history."""
    why = f": {cut(run.why, _WHY_CHARS)}" if run.why and run.state not in ("busy", "done") else ""
    tries = f", try {run.tries}" if run.tries > 1 else ""
    missed = f", and {run.missed:,} due before it" if run.missed else ""
    return f"{run.at}: {past_state(run.state)}{tries}{missed}{why}"


def _listed(notice: Schedules) -> Rendered:
    """Return one page of the answer to `/cron`."""
    forbidden = notice.forbidden and (
        f"“{notice.forbidden}” has schedules and may not use them: its pack.yml does not set "
        "permissions.cron."
    )
    said = [notice.said] if notice.said else []
    if not notice.lines:
        return say("\n".join([*said, forbidden or _NONE]))
    pages = -(-len(notice.lines) // PAGE)
    page = min(notice.page, pages - 1)
    shown = list(enumerate(notice.lines, start=1))[page * PAGE : (page + 1) * PAGE]
    head = f"Schedules here ({page + 1} of {pages}):" if pages > 1 else "Schedules here:"
    lines = [f"{number}. {_line(line)}" for number, line in shown]
    rows = [row for number, line in shown for row in _buttons(f"{number}: ", line)]
    back = [ButtonSpec("◀", _cron("page", page))] if page else []
    on = [ButtonSpec("▶", _cron("page", page + 2))] if page + 1 < pages else []
    notes = [note for note in (forbidden, ALL_OFF if notice.off else "") if note]
    text = "\n".join([*said, head, *lines, *(["", *notes] if notes else [])])
    return say(text, *rows, *([[*back, *on]] if pages > 1 else []))


def _line(line: ScheduleLine) -> str:
    last = f"; last {line.last_at}, {past_state(line.last_state)}" if line.last_state else ""
    pack = f" ({line.pack})" if line.pack else ""
    return f"{line.name}{pack}, {line.when}: {state(line)}{last}"


def _buttons(number: str, line: ScheduleLine) -> list[list[ButtonSpec]]:
    """Return the row of what can be done with a schedule."""
    row: list[tuple[str, str]] = []
    if line.paused not in ("over", "permission"):
        switch = "on" if line.paused else "off"
        row.append((f"Switch {switch}", _cron(switch, line.id)))
    if line.paused != "permission":
        row.append(("Run now", _cron("run", line.id)))
    row.append(("History", _cron("history", line.id)))
    if not line.proposed:
        row.append(("Remove", _cron("remove?", line.id)))
    return [[ButtonSpec(f"{number}{label}", data) for label, data in row]]


def _cron(*words: object) -> str:
    """Return the data of a button that says `/cron`."""
    return encode("command", " ".join(map(str, ("cron", *words))))


def _history(notice: ScheduleHistory) -> Rendered:
    line = notice.line
    runs = [past_run(run) for run in notice.runs] or ["It has not run yet."]
    back = ButtonSpec("All schedules", _cron("list"))
    return say("\n".join([made(line), *runs]), *_buttons("", line), [back])


def _at_work(notice: AtWork) -> Rendered:
    """Return the answer to `/jobs`."""
    shown = notice.works[:_WORKS_MAX]
    lines = [_ASKED[notice.asked]] if notice.asked else []
    if not shown and notice.asked != "stopped":
        lines.append("Nothing is at work here.")
    lines += [_work(work) for work in shown]
    if len(notice.works) > len(shown):
        lines.append(f"… and {len(notice.works) - len(shown)} more")
    if notice.waiting:
        lines.append("1 more waits." if notice.waiting == 1 else f"{notice.waiting} more wait.")
    if notice.kept:
        results = "1 result waits" if notice.kept == 1 else f"{notice.kept} results wait"
        lines.append(f"{results} until {notice.kept_until}.")
    if notice.upcoming:
        lines += ["", "Next:", *(f"• {name}, {due}" for name, due in notice.upcoming)]
    stops = [
        [
            ButtonSpec(
                f"Stop: {cut(work.name, _LABEL_CHARS)}",
                encode("command", f"jobs stop {work.job_id}"),
            )
        ]
        for work in shown
        if work.may_stop
    ]
    return say("\n".join(lines), *stops)


def _work(work: WorkLine) -> str:
    what = f"“{work.name}”" if work.is_run else f"an answer to {work.name}"
    return f"• {what}, since {work.since}{f', in {work.where}' if work.where else ''}"
