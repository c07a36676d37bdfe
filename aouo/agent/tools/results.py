"""`result_read`: read on in a result of which the model was given only a handle."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Literal

from aouo.agent.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.facts.errors import ToolFailed
from aouo.facts.ports import Clock, stamp
from aouo.guard.prepared import PreparedCall
from aouo.plumbing.web.envelope import still_untrusted
from aouo.store import contents
from aouo.store.database import Database, Tx

NAME = "result_read"
_READ_CHARS = 3_400
"""What one call reads: with its frame and marks it is not a long result itself."""
_LINE_CHARS = 400
"""A longer line counts as several, so that it can be read in parts."""
_MAX_WORDS = 50
"""The most alternatives of one grep."""
_FIRST_CHARS, _LAST_CHARS = 900, 300
_COUNT = 100


class ResultRead(Arguments):
    result: str
    mode: Literal["head", "tail", "grep", "range"]
    pattern: str = ""
    """grep: words to find, | between alternatives"""
    start: int = 1
    """first line of a range, or of a grep"""
    count: int = _COUNT
    """how many lines"""


async def keep(action: PreparedCall, text: str, *, database: Database, clock: Clock) -> str:
    """Store the redacted text of a call and return its handle; the same call replaces it.

    A handle works only in its session and in those that continue it.
    """
    now, result_id = stamp(clock), f"r_{action.call_id[-6:].lower()}"
    call = {"turn_id": action.facts.id, "call_id": action.call_id, "tool": action.tool}

    def put(tx: Tx) -> None:
        contents.put_result(tx, action.facts.session_id, result_id, text, now, **call)

    await database.transact(put)
    return await asyncio.to_thread(handle, result_id, text)


async def _text_of(database: Database, session_id: str, result_id: str) -> str:
    """Return the whole text of a handle.

    Raises:
        ToolFailed: there is no such handle in this session.
    """
    wanted = result_id.strip().strip("[]").removeprefix("result ").lower()
    text = await database.read(lambda tx: contents.result_text(tx, session_id, wanted))
    if not text:
        raise ToolFailed(
            f"There is no result {result_id!r} in this session. A handle looks like r_1a2b3c "
            "and stands at the beginning of the result that was too long."
        )
    return text


def result_read(database: Database) -> Tool:
    async def _run(wish: ResultRead, context: ToolContext, call_id: str) -> str:
        del call_id
        text = await _text_of(database, context.facts.session_id, wish.result)
        return still_untrusted(await asyncio.to_thread(read, text, wish), text)

    return tool(
        NAME,
        "Read on in a long result by its handle: head, tail, range (start, count) or grep.",
        ResultRead,
        _run,
        sink="look",
        group="results",
        read_only=True,
    )


def handle(result_id: str, text: str) -> str:
    """Return what the model reads of a long text: its handle, first and last lines."""
    numbered = _lines_of(text)
    first = _within(_FIRST_CHARS, numbered)
    last = _within(_LAST_CHARS, reversed(numbered[len(first) :]))[::-1]
    shown = "\n".join([*first, "… Last lines:", *last])
    return (
        f"[result {result_id}: {len(text):,} characters, {len(numbered):,} lines. First lines:\n"
        + still_untrusted(shown, text)
        + f"\nRead on with {NAME}.]"
    )


def read(text: str, wish: ResultRead) -> str:
    """Return the lines that were asked for, as many as fit, and where to go on.

    Raises:
        ToolFailed: the wish cannot be met as it stands.
    """
    lines = _lines_of(text)
    count = max(1, wish.count)
    start = max(1, wish.start)
    match wish.mode:
        case "head":
            return _shown(lines, range(1, min(count, len(lines)) + 1))
        case "tail":
            return _shown(lines, range(max(1, len(lines) - count + 1), len(lines) + 1), tail=True)
        case "range":
            if start > len(lines):
                raise ToolFailed(f"It has {len(lines):,} lines; start at one of them.")
            return _shown(lines, range(start, min(start + count, len(lines) + 1)))
        case "grep":
            return _found(lines, wish.pattern, start, count)


def _lines_of(text: str) -> list[str]:
    """Split a text into lines, and lines over `_LINE_CHARS` into pieces."""
    pieces: list[str] = []
    for line in text.splitlines():
        pieces += [line[at : at + _LINE_CHARS] for at in range(0, len(line) or 1, _LINE_CHARS)]
    return pieces


def _found(lines: Sequence[str], pattern: str, start: int, count: int) -> str:
    words = [word.casefold() for word in pattern.split("|") if word.strip()][:_MAX_WORDS]
    if not words:
        raise ToolFailed("grep needs a pattern: words to find, | between alternatives.")
    hits = [
        number
        for number, line in enumerate(lines, 1)
        if number >= start and any(map(line.casefold().__contains__, words))
    ]
    if not hits:
        return f"[nothing like {pattern[:80]!r} from line {start:,} on, of {len(lines):,} lines]"
    return f"[{len(hits):,} of {len(lines):,} lines]\n" + _shown(lines, hits[:count], of=hits)


def _shown(
    lines: Sequence[str], numbers: Sequence[int], *, tail: bool = False, of: Sequence[int] = ()
) -> str:
    """Numbered lines within one reading; the end says where to go on."""
    wanted = [f"{number}: {lines[number - 1]}" for number in numbers]
    if tail:
        shown = _within(_READ_CHARS, reversed(wanted))[::-1]
        first = numbers[-1] - len(shown) + 1
        return "\n".join([*shown, f"[lines {first:,} to {len(lines):,}, the end]"])
    shown = _within(_READ_CHARS, wanted)
    last = numbers[len(shown) - 1]
    left = any(number > last for number in of) if of else last < len(lines)
    rest = f"go on with start={last + 1}" if left else "the end"
    return "\n".join([*shown, f"[up to line {last:,} of {len(lines):,}; {rest}]"])


def _within(chars: int, lines: Iterable[str]) -> list[str]:
    """As many lines as fit, at least one."""
    kept: list[str] = []
    for line in lines:
        chars -= len(line) + 1
        if chars < 0 and kept:
            break
        kept.append(line)
    return kept
