"""Words the list of schedules, with the buttons that switch them."""

from __future__ import annotations

from aouo.facts.notices import ScheduleLine, Schedules
from aouo.facts.ports import ButtonSpec
from aouo.facts.taps import SwitchOff, SwitchOn, encode

NOT_STARTED = "Schedules do not run yet: this version keeps them and does not start them."
_SHOWN = 40
_LABEL_CHARS = 40


def listed(notice: Schedules) -> str:
    """Return the answer to `/cron`."""
    forbidden = notice.forbidden and (
        f"“{notice.forbidden}” has schedules and may not use them: its pack.yml does not set "
        "permissions.cron."
    )
    if not notice.lines:
        return forbidden or "There are no schedules here."
    lines = [_line(line) for line in notice.lines[:_SHOWN]]
    if len(notice.lines) > _SHOWN:
        lines.append(f"… and {len(notice.lines) - _SHOWN} more")
    return "\n".join(
        ["Schedules here:", *lines, "", *([forbidden] if forbidden else []), NOT_STARTED]
    )


def switches(notice: Schedules) -> tuple[tuple[ButtonSpec, ...], ...]:
    """Return one button per schedule, to switch it on or off."""
    return tuple(
        (ButtonSpec(_label(line), encode((SwitchOn if line.paused else SwitchOff)(line.id))),)
        for line in notice.lines[:_SHOWN]
    )


def _line(line: ScheduleLine) -> str:
    if line.paused == "permission":
        state = "off: the pack may not use schedules any more"
    elif line.paused:
        state = "off"
    elif line.due:
        state = f"on, next {line.due}"
    else:
        state = "over"
    return f"• {line.name}{f' ({line.pack})' if line.pack else ''}, {line.when}: {state}"


def _label(line: ScheduleLine) -> str:
    verb = "Switch on" if line.paused else "Switch off"
    name = line.name if len(line.name) <= _LABEL_CHARS else line.name[: _LABEL_CHARS - 1] + "…"
    return f"{verb}: {name}"
