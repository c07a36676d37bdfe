"""Words the answers to `/memory`: the files, the origin of changes, the buttons to undo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from aouo.facts.notices_memory import MemoryChange, MemoryFile, MemoryFileShown, MemoryShown
from aouo.facts.ports import ButtonSpec, Media, Rendered
from aouo.facts.taps import encode
from aouo.markdown.entities import LIMIT, utf16_len
from aouo.words.saying import cut

_EXCERPT_CHARS = 600
_LINE_CHARS = 120
_WORDS_CHARS = 60


def shown(notice: MemoryShown) -> Rendered:
    """Return the card: each file with its size and beginning, the newest changes, the buttons."""
    whose = f"“{notice.pack}” remembers here" if notice.pack else "I remember here"
    lines = [*_outcome(notice), f"What {whose}:"]
    for file in notice.files:
        lines += ["", f"{file.name}, {_size(file)}", *_excerpt(file)]
    if notice.edited:
        lines += ["", f"Edited by hand since: {', '.join(notice.edited)}."]
    if notice.changes:
        lines += ["", "Newest changes:", *(_change(change) for change in notice.changes)]
    show = [
        ButtonSpec(f"Show {file.name}", encode("command", f"memory show {file.name}"))
        for file in notice.files
        if file.text
    ]
    undo = (
        [ButtonSpec("Undo last change", encode("command", f"memory undo {notice.undo}"))]
        if notice.undo
        else []
    )
    rows = [tuple(show[n : n + 2]) for n in range(0, len(show), 2)] + (
        [tuple(undo)] if undo else []
    )
    text = "\n".join(lines)
    text = text.encode("utf-16-le", "replace")[: 2 * LIMIT].decode("utf-16-le", "ignore")
    return Rendered(text, (), tuple(rows), notice.message_id, preview=False)


def whole(notice: MemoryFileShown) -> Rendered:
    """Return a whole memory file: as text if it fits in a message, else as a document."""
    file = notice.file
    empty = (
        ((ButtonSpec("Empty it", encode("command", f"memory empty {file.name}")),),)
        if file.text
        else ()
    )
    text = f"{file.name}:\n\n{file.text}" if file.text else f"{file.name} is empty."
    if utf16_len(text) <= LIMIT:
        return Rendered(text, (), empty, preview=False)
    return Rendered(
        f"{file.name}, {_size(file)}",
        (),
        empty,
        media=Media("document", "", file.name, file.text),
    )


def _outcome(notice: MemoryShown) -> list[str]:
    if notice.emptied:
        return [f"Emptied: {notice.emptied}. “Undo last change” brings it back.", ""]
    if notice.undone:
        return [f"Undone: {notice.undone} is as it was before that change.", ""]
    if notice.nothing_undone and notice.edited:
        names = ", ".join(notice.edited)
        return [f"Nothing undone: {names} was edited by hand. Undo again takes that back.", ""]
    if notice.nothing_undone and notice.undo:
        return ["Nothing undone: there is a newer change by now, see below.", ""]
    return ["There is no change to undo.", ""] if notice.nothing_undone else []


def _size(file: MemoryFile) -> str:
    return f"{file.size_bytes:,} bytes" if file.text else "empty"


def _excerpt(file: MemoryFile) -> list[str]:
    text = file.text.strip()
    if len(text) <= _EXCERPT_CHARS:
        return [text] if text else []
    return [f"{text[:_EXCERPT_CHARS].rsplit(maxsplit=1)[0]} …"]


def _change(change: MemoryChange) -> str:
    when = f"{change.at:%d %b %H:%M}".lstrip("0")
    what = _lines(change.added, change.removed)
    whose = f"{change.by}'s message" if change.by else "your message"
    match change.origin:
        case "tool":
            words = cut(change.words, _WORDS_CHARS)
            source = f", from {whose} “{words}”" if words else ""
            removed = _told(change.removed)
            verb = "changed" if removed else "added"
            if removed and not change.added:
                verb = "removed"
            return f"· {change.file}, {verb} {when}{source}: {what}"
        case "summary":
            return f"· {change.file}, {when}, kept when older messages were summarised: {what}"
        case "consolidate":
            words = cut(change.words, _WORDS_CHARS)
            how = "concluded from" if change.inferred else "gathered from"
            source = f"{how} “{words}”" if words else f"{how} what was said"
            return f"· {change.file}, {when}, {source}: {what}"
        case "hand" if change.emptied:
            return f"· {change.file}, emptied by {change.by or 'you'} {when}: {what}"
        case "hand" if change.on_page:
            return (
                f"· {change.file}, edited by {change.by or 'you'} on the local page {when}: {what}"
            )
        case "hand":
            return f"· {change.file}, edited by hand, seen {when}: {what}"
        case "undo":
            return f"· {change.file}, a change undone {when}: {what}"
        case _:
            assert_never(change.origin)


def _lines(added: Sequence[str], removed: Sequence[str]) -> str:
    added, removed = _told(added), _told(removed)
    first = [f"+ {line.lstrip('-* ')}" for line in added[:1]]
    first += [f"− {line.lstrip('-* ')}" for line in removed[:1]]
    more = len(added) + len(removed) - len(first)
    said = ", ".join(cut(line, _LINE_CHARS) for line in first) or "blank lines"
    return f"{said} and {more} more" if more else said


def _told(lines: Sequence[str]) -> list[str]:
    """Return the lines without a template's `(empty)`."""
    return [line for line in lines if line.strip().casefold() != "(empty)"]
