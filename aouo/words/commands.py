"""Words the notices about the owner's commands, and the answer to `/status`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from aouo.facts.notices_commands import (
    BotState,
    CommandFailed,
    CommandNotice,
    CommandOutput,
    CommandRunsApart,
    CommandTookTooLong,
    CommandUnusable,
    LastTurn,
    ModelState,
    NoTurnHere,
    StatusShown,
    WordsNotSplit,
)
from aouo.facts.ports import Media, Rendered
from aouo.markdown.entities import LIMIT
from aouo.words import turns
from aouo.words.models import no_answer_because
from aouo.words.saying import say

_OPENING_CHARS = 900
_LISTED = 10


def worded(notice: CommandNotice) -> Rendered:
    """Return the message for a notice."""
    match notice:
        case WordsNotSplit(name, why):
            return say(
                f"I cannot tell what follows /{name}: {why}. Close it, or put a backslash before "
                "a quote that belongs to a word."
            )
        case CommandOutput(name, text):
            return _output(name, text)
        case CommandFailed(name, reference):
            return say(f"/{name} failed. The log has it under {reference}.")
        case CommandTookTooLong(name):
            return say(f"/{name} took too long, so I ended it.")
        case CommandRunsApart(name):
            return say(f"I am at work on /{name}; you can go on meanwhile. The answer comes here.")
        case CommandUnusable(name, ""):
            return say(f"/{name} cannot be used now; this bot's owner has to mend it.")
        case CommandUnusable(name, problem):
            return say(f"/{name} cannot be used: {problem}")
        case StatusShown():
            return say("\n".join(_status(notice)))
        case LastTurn() | NoTurnHere():
            return turns.worded(notice)
        case _:
            assert_never(notice)


def _output(name: str, text: str) -> Rendered:
    """Show it whole: as a file below its beginning, if it is more than a message holds."""
    if not text.strip():
        return say(f"/{name} is done; it said nothing.")
    if len(text.encode("utf-16-le", "replace")) <= 2 * LIMIT:
        return say(text)
    opening = text[:_OPENING_CHARS].rstrip() + "…"
    return Rendered(opening, media=Media("document", "", f"{name}.txt", text))


def _status(notice: StatusShown) -> Iterator[str]:
    match notice.answers:
        case "here":
            yield f"“{notice.pack}” answers here."
        case "gone":
            yield f"“{notice.pack}” is not installed any more. /pack chooses another one."
        case "chosen":
            yield "No pack is chosen here yet. /pack chooses one."
        case "none":
            yield "No pack is installed."
    if notice.off_record:
        yield "This is off the record. /otr ends it."
    yield _work("Here", notice.running, notice.waiting)
    if notice.bot:
        yield ""
        yield from _bot(notice.bot)


def _work(where: str, running: int, waiting: int, parked: int = 0) -> str:
    said = [
        f"{running} at work" if running > 1 else "something is at work" if running else "",
        f"{waiting} waiting" if waiting else "",
        f"{parked} waiting for a pack or a chat" if parked else "",
    ]
    return f"{where}: {', '.join(filter(None, said)) or 'nothing is at work'}."


def _bot(bot: BotState) -> Iterator[str]:
    yield f"I have been running since {bot.since}."
    yield from map(_model, bot.models)
    if bot.telegram:
        yield f"Telegram: {bot.telegram}."
    yield _work("All conversations", bot.running, bot.waiting, bot.parked)
    yield from (f"Tools {server}: {state}." for server, state in bot.mcp[:_LISTED])
    problems = (
        *(f"Pack {name}: {why}" for name, why in bot.broken_packs),
        *bot.broken_commands,
        *bot.concerns,
    )
    yield from (f"⚠️ {one}" for one in problems[:_LISTED])
    if len(problems) > _LISTED:
        yield f"… and {len(problems) - _LISTED} more: aouo status"


def _model(state: ModelState) -> str:
    name = f"Model: {state.provider} ({state.model})"
    if not state.failures:
        return f"{name}."
    times = f"{state.failures} times in a row" if state.failures > 1 else "the last time"
    cools = f"; others are asked first until {state.cools_until}" if state.cools_until else ""
    return f"{name} failed {times} (it {no_answer_because(state.last)}){cools}."
