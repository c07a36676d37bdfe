"""Answers which turns there were, and how one went."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import date
from typing import get_args

from aouo.dashboard.endpoints import Endpoint, NotFound, day, number, option, phrase
from aouo.dashboard.excerpts import MARGIN_CHARS, beginning
from aouo.dashboard.shown import Shown
from aouo.facts.events import Origin
from aouo.plumbing.redact import Redactor
from aouo.plumbing.verbs import Facts
from aouo.plumbing.zones import moments
from aouo.store import prompts, traces, turn_lines, turn_texts
from aouo.store.traces import ToolUse, Trace
from aouo.store.turn_texts import Kept
from aouo.words.models import no_answer_because

_TEXT_CHARS = 2_000
_PROMPT_CHARS = 50_000
_WHY_CHARS = 500
"""Of a reason, and of what a platform said."""
_PARAMETERS = (
    phrase("pack", "The pack that answered."),
    phrase("person", "Who asked, as the platform's id."),
    option("status", ("", "ack", "nack", "aborted", "open"), "How it ended; any without it."),
    option("origin", ("", *get_args(Origin)), "What started it; any without it."),
    phrase("model", "A model that answered in it."),
    phrase("reason", "A part of why it has no answer."),
    phrase("session", "Its session."),
    day("since", "The first day on which it may have begun."),
    day("until", "The last day on which it may have begun."),
    phrase("older", "The id of the turn before which to go on."),
    number("limit", 1, 200, 50, "How many."),
)


def turns(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints about turns."""

    async def some(since: date | None, until: date | None, limit: int, **like: str) -> Facts:
        """Turns, newest first, with what each used; `older` is where the next ones begin."""
        begins, ends = moments(since, until, shown.zone())
        async with shown.snapshot() as snapshot:
            found = await snapshot.ask(
                turn_lines.newest(limit + 1, since=begins, until=ends, **like)
            )
        return {"turns": found[:limit], "older": found[limit - 1].id if len(found) > limit else ""}

    async def one(turn: str) -> Facts:
        """How one turn went, in time; texts only while it is kept, and long ones cut."""
        async with shown.snapshot() as snapshot:
            line = await snapshot.ask(turn_lines.one(turn))
            if line is None:
                raise NotFound("There is no such turn, or it was forgotten with its session.")
            trace = await traces.ask(snapshot, line)
            if line.off_record:
                return _told(trace, (), {}, (), shown.redactor())
            read = _TEXT_CHARS + MARGIN_CHARS
            said = await snapshot.ask(turn_texts.words(line.id, read))
            calls = await snapshot.ask(turn_texts.calls(line.id, read))
            kept = trace.recorded.prompts if said else ()  # a newer turn may have had the same
            prompt = await snapshot.ask(prompts.texts(kept, _PROMPT_CHARS + MARGIN_CHARS))
        return await asyncio.to_thread(_told, trace, said, calls, prompt, shown.redactor())

    return (
        Endpoint("GET", "/api/turns", some, _PARAMETERS),
        Endpoint("GET", "/api/turns/{turn}", one),
    )


def _told(
    trace: Trace,
    said: Sequence[Kept],
    calls: Mapping[str, Mapping[str, Kept]],
    prompt: Sequence[str],
    redactor: Redactor,
) -> Facts:
    """A trace with its texts."""
    told = traces.facts(trace)
    for entry, facts in zip(trace.timeline, told["timeline"], strict=True):
        for name in facts.keys() & {"reason", "error"}:
            facts[name] = beginning(redactor, facts[name], _WHY_CHARS)
        if isinstance(entry, ToolUse):
            facts |= {name: _cut(text, redactor) for name, text in calls.get(entry.id, {}).items()}
    for one in told["tries"]:
        one["why"] = no_answer_because(one["error"])
    told["prompt"] = [beginning(redactor, text, _PROMPT_CHARS) for text in prompt]
    told["said"] = [_cut(text, redactor) for text in said]
    return told


def _cut(kept: Kept, redactor: Redactor) -> Facts:
    text, chars = kept
    return {"text": beginning(redactor, text, _TEXT_CHARS), "chars": chars}
