"""Cuts a session to what a model reads: pure, and never a call without its results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, cast

from aouo.agent.tokens import Scale
from aouo.facts.transcript import AssistantSaid, Message, SystemSaid, ToolReturned, UserSaid
from aouo.plumbing.web.envelope import source_in

_STALE_AFTER_TURNS = 4
_STALE_BLOCK_TURNS = 4
"""So many turns go stale at once; between, a prompt begins as the last one did (prefix cache)."""
_SHORT_CHARS = 200
"""A result that is no longer than this is left alone: one line about it would save nothing."""
_QUOTED_CHARS = 80


def sanitised(messages: Sequence[Message]) -> list[Message]:
    """Drop what no provider accepts: a beginning in mid-turn, calls or results without a partner.

    An assistant entry keeps its calls only if every one of them is answered right after it.
    """
    kept: list[Message] = []
    index = 0
    while index < len(messages):
        entry = messages[index]
        index += 1
        # Plain tests of types: this looks at every entry of every turn.
        if isinstance(entry, AssistantSaid) and entry.calls:
            results: list[ToolReturned] = []
            while index < len(messages) and isinstance(result := messages[index], ToolReturned):
                results.append(result)
                index += 1
            if {call.id for call in entry.calls} == {result.call_id for result in results}:
                kept += [entry, *results]
            elif entry.text:
                kept.append(AssistantSaid(entry.text))
        elif not isinstance(entry, ToolReturned):
            kept.append(entry)
    head = _head(kept)
    start = next((i for i in range(head, len(kept)) if isinstance(kept[i], UserSaid)), len(kept))
    return kept[:head] + kept[start:]


def without_repeats(messages: Sequence[Message]) -> list[Message]:
    """Drop a person's words that come twice in a row (a redelivery), and shorten each large result
    that repeats an earlier one exactly; what was sent already stays as it was."""
    kept = list(messages)
    # Plain tests of types again, here and below.
    twice = [
        index
        for index, (entry, following) in enumerate(pairwise(messages))
        if type(entry) is UserSaid and type(following) is UserSaid and entry == following
    ]
    for index in reversed(twice):
        del kept[index]
    seen: set[str] = set()
    for index, result in _large_results(kept):
        if result.text in seen:
            kept[index] = replace(result, text=f"[the same as an earlier result of {result.name}]")
        seen.add(result.text)
    return kept


def stale_shortened(messages: Sequence[Message]) -> list[Message]:
    """Shorten the large results of all but the newest four to seven turns to one line each, four
    turns at once; the number of entries stays.

    The turn that is about to begin is not among `messages`, so the newest there is one turn old.
    """
    kept = list(messages)
    large = _large_results(messages)
    if not large:
        return kept
    starts = [i for i, entry in enumerate(messages) if isinstance(entry, UserSaid)]
    blocks = (len(starts) - _STALE_AFTER_TURNS) // _STALE_BLOCK_TURNS
    if blocks > 0:
        for index, result in large:
            if index < starts[blocks * _STALE_BLOCK_TURNS]:
                kept[index] = _one_line(result)
    return kept


def newest_that_fit(messages: Sequence[Message], max_tokens: int, scale: Scale) -> list[Message]:
    """Return the newest turns whose estimate fits; a turn is kept whole or not at all.

    The oldest go in blocks of up to half of what fits, so that the prompt begins with the same
    words for some turns. A summary at the head always stays.
    """
    if scale.at_most(messages) <= max_tokens:
        return list(messages)
    head = _head(messages)
    used = scale.entries(messages[:head]) if head else 0
    starts = [i for i, entry in enumerate(messages) if isinstance(entry, UserSaid)]
    kept_from, fit = len(messages), 0
    for start in reversed(starts):
        used += scale.entries(messages[start:kept_from])
        if used > max_tokens:
            break
        kept_from, fit = start, fit + 1
    if gone := len(starts) - fit:
        block = 1 << max(0, (fit // 2).bit_length() - 1)
        gone += -gone % block
        kept_from = starts[gone] if fit else kept_from
    return [*messages[:head], *messages[kept_from:]]


def _head(messages: Sequence[Message]) -> int:
    """How many entries at the head are the runtime's own."""
    return next(
        (i for i, entry in enumerate(messages) if not isinstance(entry, SystemSaid)), len(messages)
    )


def _large_results(messages: Sequence[Message]) -> list[tuple[int, ToolReturned]]:
    return [
        (index, entry)
        for index, entry in enumerate(messages)
        if type(entry) is ToolReturned and len(entry.text) > _SHORT_CHARS
    ]


def _one_line(result: ToolReturned) -> Message:
    text = result.text
    lines = text.count("\n") + 1
    if source := source_in(text):  # a quote would lose one of its marks
        told = f"[{result.name}: {len(text):,} characters, {lines:,} lines from {source}]"
        return replace(result, text=told)
    words = " ".join(text[: 2 * _QUOTED_CHARS].split())[:_QUOTED_CHARS]
    told = f"[{result.name}: {len(text):,} characters, {lines:,} lines: {words}…]"
    return replace(result, text=told)


def last_words(said: Sequence[Message]) -> str:
    """Return the words of a turn's very last call if it was a `msg` that arrived, else "".

    Words that were followed by another call are no answer: "let me look" is said before looking.
    """
    if not said or not isinstance(result := said[-1], ToolReturned):
        return ""
    if result.name != "msg" or result.failed or not _object(_told(result)).get("sent_content"):
        return ""
    calls = (call for entry in said if isinstance(entry, AssistantSaid) for call in entry.calls)
    wish = next((call for call in calls if call.id == result.call_id), None)
    words = _object(wish.arguments).get("text") if wish else ""
    return words.strip() if isinstance(words, str) else ""


def _told(result: ToolReturned) -> str:
    """Return the tool's own line; a remark of the runtime may follow it."""
    return result.text.partition("\n")[0]


def _object(text: str) -> dict[str, Any]:
    """Parse a JSON object; {} = the text is none."""
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


_HEARD_CHARS = 200
OTHER_FILE = "(their file was replaced too; this turn has the one that came first)"


def edited(said: str) -> str:
    """Return the line for an edit that came while the turn was running."""
    return f"[the person edited their message: {said}]"


def reacted(who: str, emoji: str, text: str) -> str:
    """Return the line for a reaction; `who` is "" in a private chat, `text` "" = not known."""
    quoted = " ".join(text.split())
    short = quoted if len(quoted) <= _HEARD_CHARS else f"{quoted[:_HEARD_CHARS]}…"
    to = f": {short}" if short else " a message"
    return f"[{who or 'the person'} reacted {emoji} to{to}]"
