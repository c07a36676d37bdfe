"""`aouo trace` and `logs`: show one turn step by step, and the lines of the log."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO, cast

import click

from aouo.cli.context import current_home, json_option, not_there, print_json
from aouo.facts.records import Recorded
from aouo.plumbing.client import NoAnswer, ask
from aouo.plumbing.home import Home
from aouo.store import traces
from aouo.store.opening import reading
from aouo.store.traces import Sent, Step, ToolUse, Trace, TracedCall, Wait
from aouo.words import models
from aouo.words.money import cost, usd

_WIDTH = 44
_ANSWERS_WITHIN_S = 2.0


@click.command()
@click.argument("turn", default="", metavar="[TURN]")
@json_option
def trace(turn: str, as_json: bool) -> None:
    """Show one turn: its prompt, steps, model calls, tool calls, waits and messages.

    TURN is its id, as the log says it, or the end of one; without it, the newest turn.
    """
    home = current_home()
    file = home.database
    found: Trace | None = None
    if file.exists():
        with reading(file) as tx:
            found = traces.trace(tx, turn)
    if found is None:
        raise not_there(
            f"There is no turn {turn!r}." if turn else "There is no turn yet.",
            fix="`turn_done` in `aouo logs` names them." if turn else "Say something to the bot.",
        )
    if as_json:
        print_json(traces.facts(found))
        return
    for line in _lines(found):
        click.echo(line)
    if page := _page(home):
        click.echo(f"\nOn the page: {page}#/turns/{found.turn.id}")


def _page(home: Home) -> str:
    """The address of the running bot's page, without its token; "" = none listens."""
    try:
        state = str(ask(home, "status", timeout_s=_ANSWERS_WITHIN_S).get("dashboard", ""))
    except NoAnswer:
        return ""
    return state.partition("?")[0] if state.startswith("http") else ""


def _lines(found: Trace) -> Iterator[str]:
    turn = found.turn
    taken_up = f", taken up {turn.resumes} times" if turn.resumes else ""
    yield f"{turn.id}  {turn.status}{taken_up}"
    yield f"{turn.started_at} – {turn.settled_at or 'still open'}"
    if turn.off_record:
        yield "It is off the record: nothing else is told of it."
        return
    yield f"pack {turn.pack or 'none'}, session {turn.session_id}"
    if turn.reason:
        yield turn.reason
    waited = f", {turn.waited_ms:,} ms of them for a person" if turn.waited_ms else ""
    yield f"{turn.ms:,} ms{waited}, {cost(turn.cost_usd, turn.unpriced_calls)}"
    yield from _recorded(found.recorded)
    yield "\nWhat happened, in milliseconds from its start"
    for entry in found.timeline:
        yield f"{entry.at_ms:>9,} {_ms(entry.ms)}  {_told(entry)}"
    if found.cut:
        yield "There is more, which is not shown."


def _recorded(recorded: Recorded) -> Iterator[str]:
    if recorded.sections:
        yield f"\n{'Prompt of the first model call':<{_WIDTH}} {'bytes':>9} {'tokens':>9}"
        for part in recorded.sections:
            yield f"  {part.name:<{_WIDTH - 2}} {part.bytes:>9,} {part.tokens:>9,}"
    if recorded.tries:
        yield "\nModels that gave no answer"
        for one in recorded.tries:
            then = ", asked again" if one.asked == one.failed else f", then {one.asked}"
            times = f" ({one.times} times)" if one.times > 1 else ""
            why = models.no_answer_because(one.error)
            yield f"  {one.failed} {why}{times}{then if one.asked else ''}"
    if recorded.edits:
        yield f"\nThe answer was edited {recorded.edits} times while it grew."
    if recorded.stale_route:
        yield "\nIts conversation pointed to a wrong session, which was put right."
    if recorded.left_out:
        yield f"\n{recorded.left_out} more were not kept, for want of room."


def _ms(ms: float) -> str:
    return f"{ms:>11,.2f}"


def _told(entry: traces.Entry) -> str:
    match entry:
        case Step():
            times = f" × {entry.calls}" if entry.calls > 1 else ""
            return f"{entry.name}{times}"
        case TracedCall():
            return (
                f"{entry.scope} {entry.provider}/{entry.model}: "
                f"{entry.input_tokens:,} in ({entry.cached_tokens:,} cached), "
                f"{entry.output_tokens:,} out, "
                f"{'no known price' if entry.unpriced else usd(entry.cost_usd)}"
            )
        case ToolUse():
            effect = ", took effect" if entry.effect else ""
            asked = f", asked by {entry.asked_by}" if entry.asked_by else ""
            judged = f"; {entry.verdict} by {entry.judge}{asked}" if entry.judge else ""
            why = f": {entry.reason}" if entry.reason else ""
            return f"tool {entry.name}: {entry.state}{effect}{judged}{why}"
        case Wait():
            return f"waited for {entry.person} ({entry.wait}): {entry.state}"
        case Sent():
            number = f" as {entry.message_id}" if entry.message_id else ""
            tries = f" after {entry.attempts} tries" if entry.attempts > 1 else ""
            why = f": {entry.error}" if entry.error else ""
            return f"message ({entry.message}) {entry.state}{number}{tries}{why}"


_HEAD = ("event", "level", "timestamp", "exception")
_LOOK_EVERY_S = 0.2


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Go on as the log grows, until Ctrl-C.")
@click.option("-n", "--lines", "count", default=50, show_default=True, help="How many lines.")
@json_option
def logs(follow: bool, count: int, as_json: bool) -> None:
    """Show the log's last lines; JSON unless this is a terminal."""
    file = current_home().log_file
    raw = as_json or not sys.stdout.isatty()
    if not file.exists() and not follow:
        click.echo(f"There is no log yet at {file}.", err=True)
        return
    shown = _all(file, count) if follow else _last(file, count)
    try:
        for line in shown:
            click.echo(line if raw else _readable(line))
    except KeyboardInterrupt:
        return


def _readable(line: str) -> str:
    """Return a JSON line as time, level, event and fields; any other line unchanged."""
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if not isinstance(parsed, dict):
        return line
    fields = cast("dict[str, Any]", parsed)
    shown = " ".join(f"{name}={value}" for name, value in fields.items() if name not in _HEAD)
    head = f"{fields.get('timestamp', '')} {fields.get('level', ''):<7} {fields.get('event', '')}"
    below = f"\n{fields['exception']}" if "exception" in fields else ""
    return f"{head} {shown}".rstrip() + below


def _last(file: Path, count: int) -> Iterator[str]:
    """Yield the last lines, also from the previous file of the rotation."""
    kept: deque[str] = deque(maxlen=count)
    for part in (_before(file), file):
        if part.exists():
            with _open(part) as lines:
                kept.extend(line.rstrip("\n") for line in lines)
    yield from kept


def _all(file: Path, count: int) -> Iterator[str]:
    """Yield the last lines and new ones, also after a rotation; never ends."""
    while not file.exists():
        time.sleep(_LOOK_EVERY_S)
    kept: deque[str] = deque(maxlen=count)
    if _before(file).exists():
        with _open(_before(file)) as lines:
            kept.extend(line.rstrip("\n") for line in lines)
    following = False
    while True:
        with _open(file) as lines:
            for line in _log_lines(file, lines):
                if line is None:
                    yield from kept
                    kept.clear()
                    following = True
                elif following:
                    yield line
                else:
                    kept.append(line)


def _log_lines(file: Path, lines: TextIO) -> Iterator[str | None]:
    """Yield the lines of the open file until it is rotated; None at its present end."""
    part = ""
    renamed = False
    while not renamed:
        renamed = _is_another(file, lines.fileno())  # checked first, so that the rest is read
        while piece := lines.readline():
            part += piece
            if part.endswith("\n"):
                yield part[:-1]
                part = ""
        yield None
        if not renamed:
            time.sleep(_LOOK_EVERY_S)


def _is_another(file: Path, descriptor: int) -> bool:
    try:
        return file.stat().st_ino != os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False  # just rotated; the first line creates the new one


def _before(file: Path) -> Path:
    return file.with_name(f"{file.name}.1")


def _open(file: Path) -> TextIO:
    return file.open(encoding="utf-8", errors="replace")
