"""Makes the answers to `/memory`: the files, the origin of changes, the buttons to undo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from aouo.facts.ports import ButtonSpec, Media, Rendered
from aouo.facts.records import Version
from aouo.facts.taps import encode
from aouo.plumbing.web.envelope import told_from
from aouo.words.catalogue import cut, text
from aouo.words.markdown.tables import LIMIT, utf16_len

_EXCERPT_CHARS = 600
_LINE_CHARS = 120
_WORDS_CHARS = 60


def card(
    pack: str,
    files: Mapping[str, str],
    changes: Sequence[str],
    *,
    undo: int,
    edited: Sequence[str],
    outcome: str = "",
    replies_to: int = 0,
) -> Rendered:
    """Return what a pack ("" = none) remembers here: each file, the newest changes, the buttons.

    `files` has the text of each file by name. `undo` is the version that a button undoes, 0 = there
    is none; `edited` are files changed by hand since their newest version; `outcome` says what was
    just done, "" = nothing; `replies_to` is the message of the newest change, 0 = none here.
    """
    lines = [outcome, ""] if outcome else []
    lines += [text("memory.title-of-pack", pack=pack) if pack else text("memory.title")]
    for name, held in files.items():
        lines += ["", text("memory.file", name=name, size=_size(held)), *_excerpt(held.strip())]
    if edited:
        lines += ["", text("memory.edited", names=", ".join(edited))]
    if changes:
        lines += ["", text("memory.changes"), *changes]
    show = [
        ButtonSpec(text("memory.button-show", name=name), encode("command", f"memory show {name}"))
        for name, held in files.items()
        if held
    ]
    rows = [tuple(show[n : n + 2]) for n in range(0, len(show), 2)]
    if undo:
        rows.append(
            (ButtonSpec(text("memory.button-undo"), encode("command", f"memory undo {undo}")),)
        )
    whole = "\n".join(lines)
    whole = whole.encode("utf-16-le", "replace")[: 2 * LIMIT].decode("utf-16-le", "ignore")
    return Rendered(whole, (), tuple(rows), replies_to, preview=False)


def whole(name: str, held: str) -> Rendered:
    """Return a whole memory file: as text if it fits in a message, else as a document."""
    if not held:
        return Rendered(text("memory.is-empty", name=name), preview=False)
    empty = ((ButtonSpec(text("memory.button-empty"), encode("command", f"memory empty {name}")),),)
    shown = f"{name}:\n\n{held}"
    if utf16_len(shown) <= LIMIT:
        return Rendered(shown, (), empty, preview=False)
    title = text("memory.file", name=name, size=_size(held))
    return Rendered(title, (), empty, media=Media("document", "", name, held))


def change(version: Version, at: datetime, words: str, reader: str) -> str:
    """Return a change as a line for the person `reader`; `words` are what it came from, "" =
    unknown."""
    cause, words = version.cause, cut(words, _WORDS_CHARS)
    before = told_from(version.before).splitlines()
    after = told_from(version.after).splitlines()
    added, removed = _new_in(after, before), _new_in(before, after)
    verb = "added"
    if _without_empty(removed):
        verb = "changed" if added else "removed"
    other = cause.person not in ("", reader)
    return text(
        f"memory.change-{_kind(version, words)}",
        file=version.file,
        when=f"{at:%d %b %H:%M}".lstrip("0"),
        verb=text(f"memory.verb-{verb}"),
        message=text("memory.message-other" if other else "memory.message-yours"),
        words=words,
        source=text("memory.quoted", words=words) if words else text("memory.what-was-said"),
        by=text("memory.by-other" if other else "memory.by-you"),
        lines=_lines(_without_empty(added), _without_empty(removed)),
    )


def _kind(version: Version, words: str) -> str:
    """Return how a change came about, as the catalogue names it."""
    cause = version.cause
    match cause.origin:
        case "tool":
            return "tool-from" if words else "tool"
        case "consolidate":
            sources = cause.sources
            inferred = bool(sources) and all(one.basis == "inferred" for one in sources)
            return "concluded" if inferred else "gathered"
        case "hand" if cause.person and not version.after:
            return "emptied"
        case "hand" if cause.platform == "web":
            return "on-page"
        case "summary" | "hand" | "undo":
            return cause.origin


def _new_in(lines: Sequence[str], others: Sequence[str]) -> list[str]:
    there = set(others)
    return [line for line in lines if line.strip() and line not in there]


def _without_empty(lines: Sequence[str]) -> list[str]:
    """Return the lines without a template's `(empty)`."""
    return [line for line in lines if line.strip().casefold() != "(empty)"]


def _lines(added: Sequence[str], removed: Sequence[str]) -> str:
    first = [f"+ {line.lstrip('-* ')}" for line in added[:1]]
    first += [f"− {line.lstrip('-* ')}" for line in removed[:1]]
    more = len(added) + len(removed) - len(first)
    shown = ", ".join(cut(line, _LINE_CHARS) for line in first) or text("memory.blank-lines")
    return text("memory.more", lines=shown, more=more) if more else shown


def _size(held: str) -> str:
    if not held:
        return text("memory.empty")
    return text("memory.bytes", bytes=len(held.encode("utf-8", "replace")))


def _excerpt(held: str) -> list[str]:
    if len(held) <= _EXCERPT_CHARS:
        return [held] if held else []
    return [f"{held[:_EXCERPT_CHARS].rsplit(maxsplit=1)[0]} …"]
