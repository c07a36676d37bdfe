"""Renders Markdown as a model writes it to messages that Telegram accepts by construction.

The parser is the CommonMark one under telegramify-markdown, whose own `convert` loses HTML
blocks, links in tables, prices between dollar signs and words of unused definitions.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aouo.words.markdown.parsing import events, options, parse
from aouo.words.markdown.tables import (
    LIMIT,
    MAX_ENTITIES,
    Document,
    Mark,
    Part,
    joins,
    nest,
    part,
    tight,
    utf16_len,
)
from aouo.words.markdown.walk import Walk

if TYPE_CHECKING:
    from pyromark.event import Event

_BARS = re.compile(r"\|\||\n\n")


def read(markdown: str) -> Document:
    """Render Markdown of any length; a mark that is not closed lasts to the end."""
    source, found = parse(markdown)
    walk = Walk(source.encode())
    for event, start, end in found:
        walk.take(event, start, end)
    return _hide_spoilers(walk.document())


def _block_starts(markdown: str) -> list[tuple[int, int]]:
    """Return where the top-level blocks and list items of `markdown` start.

    With each start comes the number of its first lines that must be repeated where the block is
    cut: the opening of a fence, the head of a table.
    """
    source = markdown.encode()
    placed: list[tuple[int, int]] = []
    depth = done = chars = 0
    for event, start, _ in events(markdown, options()):
        if not isinstance(event, str) and "End" in event:
            depth -= 1
            continue
        opens = not isinstance(event, str) and "Start" in event
        if depth == 0 or (depth == 1 and event == {"Start": "Item"}):
            chars += len(source[done:start].decode())
            done = start
            placed.append((chars, _lines_to_repeat(event)))
        depth += opens
    return placed


def first_heading(markdown: str) -> str:
    """Return the words of the first heading, "" = there is none."""
    words: list[str] | None = None
    for event, _, _ in events(markdown, options()):
        if isinstance(event, str):
            continue
        if "Start" in event:
            if not isinstance(event["Start"], str) and "Heading" in event["Start"]:
                words = []
        elif "End" in event:
            if words is not None and "Heading" in event["End"]:
                return " ".join("".join(words).split())
        elif words is not None and "Text" in event:
            words.append(event["Text"])
        elif words is not None and "Code" in event:
            words.append(event["Code"])
    return ""


def _lines_to_repeat(event: Event) -> int:
    if isinstance(event, str) or "Start" not in event or isinstance(event["Start"], str):
        return 0
    tag = event["Start"]
    if "CodeBlock" in tag:
        return 0 if isinstance(tag["CodeBlock"], str) else 1
    return 2 if "Table" in tag else 0


def _hide_spoilers(document: Document) -> Document:
    """Turn `||text||` outside code into spoiler marks."""
    if "||" not in document.text:
        return document
    code = sorted((m.start, m.end) for m in document.marks if m.kind in ("code", "pre"))
    found: list[tuple[int, int]] = []
    opened = -1
    for match in _BARS.finditer(document.text):
        at = match.start()
        inside = bisect_right(code, (at, len(document.text))) - 1
        if match[0] != "||":
            opened = -1
        elif inside >= 0 and at < code[inside][1]:
            continue
        elif opened >= 0 and not document.text[at - 1].isspace() and at - opened > 2:
            found.append((opened, at + 2))
            opened = -1
        elif not document.text[at + 2 : at + 3].isspace():
            opened = at
    bars = [at for start, end in found for at in (start, end - 2)]
    pieces: list[str] = []
    done = 0
    for bar in bars:
        pieces.append(document.text[done:bar])
        done = bar + 2
    pieces.append(document.text[done:])

    def shift(at: int) -> int:
        before = bisect_left(bars, at)
        return at - 2 * before + max(0, bars[before - 1] + 2 - at if before else 0)

    marks = [Mark(m.kind, shift(m.start), shift(m.end), m.url, m.language) for m in document.marks]
    marks += [Mark("spoiler", shift(start), shift(end)) for start, end in found]
    return Document("".join(pieces), tuple(marks), tuple(map(shift, document.blocks)))


_ANY_LENGTH = 1_000_000
_FEW = 14  # fewer marks than this, each cut by the others, make less than a hundred entities

# Roughly what Telegram marks itself: addresses, mentions, tags, commands; errs to too many.
_FOUND_BY_ITSELF = re.compile(r"(?<!\w)[@#$]\w|(?<!\S)/[A-Za-z]|(?<=\w)[.@][^\W\d_]{2}|\w://")

_SPECIAL = re.compile(r"[*_`~\[\]<>#|&$\\]|^(?:[ \t]|[-+=]|\d+[.)])", re.MULTILINE)
_MANY_NEWLINES = re.compile(r"[ \t]*\n(?:[ \t]*\n)+")
_BLOCK = re.compile(r"(?<=\n\n)(?=[^\n])")
_BLANK = (
    "\u00ad\u115f\u1160\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064"
    "\u2800\u3164\ufeff\uffa0"
) + "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
# Telegram replaces control characters, U+2028..202E included, by spaces; we keep line separators
# as line breaks. Lone surrogates have no UTF-8.
_CLEAN = (
    dict.fromkeys([*range(9), *range(11, 32), 127, *range(0x202A, 0x202F)], " ")
    | dict.fromkeys((0x2028, 0x2029), "\n")
    | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
)
_UNCLEAN = re.compile("[\x00-\x08\x0b-\x1f\x7f\u2028-\u202e\ud800-\udfff]")


def as_text(markdown: str) -> str:
    """Return a document of any length as plain text, for a terminal or a page."""
    return "\n".join(part.text for part in render(markdown, limit=_ANY_LENGTH))


def render(markdown: str, *, limit: int = LIMIT, tail: str = "") -> tuple[Part, ...]:
    """Render a document as messages of at most `limit` UTF-16 units; a blank one is none.

    `tail` is plain text that ends the last message; it is never cut, and stands next to other
    words if there is room for both. An unclosed fence lasts to the end, so any prefix of a document
    is a document.

    Raises:
        ValueError: `limit` is below 2, or `tail` alone is longer than `limit`.

    Source: core.telegram.org/bots/api#sendmessage, 1-4096 characters after entities parsing.
    """
    tail = _tidy(tail).rstrip(_BLANK)
    if limit < 2 or utf16_len(tail) > limit:
        raise ValueError(f"a limit of {limit} has no room for text and a tail of {tail!r}")
    document = _document(_tidy(markdown))
    room = limit - utf16_len(tail)
    if room < 2:  # one character outside the BMP
        parts = _split(document, limit, limit, "")
        return (*parts, Part(tail.strip(_BLANK), ())) if parts else ()
    return tuple(_split(document, limit, room, tail))


def stable_prefix(markdown: str, *, limit: int = LIMIT) -> tuple[str, str]:
    """Split growing Markdown where a live reply continues in a new message: (finished, rest).

    `finished` is empty while everything fits in one message. Otherwise it renders to exactly
    one, and `rest` is a document of its own: a fence or table cut in two is opened again.
    """
    markdown = _tidy(markdown)
    if _is_one(markdown, limit):
        return "", markdown
    starts = _block_starts(markdown)
    floor = limit // 8
    at = _last_fit(markdown, [start for start, _ in starts if start >= floor], limit)
    if at:
        return markdown[:at], markdown[at:]
    newlines = [m.end() for m in re.finditer(r"\n", markdown)]
    spaces = [m.end() for m in re.finditer(r"[ \n]", markdown)]
    signs = [i for i in range(1, min(len(markdown), 8 * limit)) if not joins(markdown, i)]
    ways = (newlines, spaces, signs, range(1, len(markdown)))
    for least, places in [(floor, way) for way in ways] + [(1, way) for way in ways]:
        at = _last_fit(markdown, [place for place in places if place >= least], limit)
        if at:
            break
    opening = _opening(markdown, starts, at)
    return markdown[:at], opening + markdown[at:]


def _is_one(markdown: str, limit: int) -> bool:
    return len(render(markdown, limit=limit)) <= 1


def _last_fit(markdown: str, places: Sequence[int], limit: int) -> int:
    """Return the last of `places` up to which `markdown` is one message; 0 = there is none."""
    low, high = 0, len(places)
    while low < high:
        middle = (low + high) // 2
        if _is_one(markdown[: places[middle]], limit):
            low = middle + 1
        else:
            high = middle
    while low and len(render(markdown[: places[low - 1]], limit=limit)) != 1:
        low -= 1
    return places[low - 1] if low else 0


def _opening(markdown: str, starts: Sequence[tuple[int, int]], at: int) -> str:
    """Return the lines that open the fence or table again that a cut at `at` splits, "" = none."""
    block = bisect_right(starts, at, key=lambda found: found[0]) - 1
    if block < 0 or not starts[block][1]:
        return ""
    start, count = starts[block]
    *opening, inside = markdown[start:at].split("\n", count)
    return "".join(f"{line}\n" for line in opening) if len(opening) == count and inside else ""


def _tidy(text: str) -> str:
    """Clean control characters as the server would; tabs stay for the parser."""
    if _UNCLEAN.search(text):
        text = text.replace("\r", "").translate(_CLEAN)
    return text


def _document(markdown: str) -> Document:
    if _SPECIAL.search(markdown):
        document = read(markdown)
        # The parser decodes `&#8;` and the like; each sign stays one sign.
        text = document.text.translate(_CLEAN) if _UNCLEAN.search(document.text) else document.text
        return Document(text.replace("\t", " "), document.marks, document.blocks)
    text = _MANY_NEWLINES.sub("\n\n", markdown.strip()).replace("\t", " ")
    text = re.sub(r" +\n", "\n", text)
    return Document(text, (), tuple(m.start() for m in _BLOCK.finditer(text)))


def _split(document: Document, limit: int, room: int, tail: str) -> list[Part]:
    """Cut a document into messages; the last one has `tail` and up to `room` units before it."""
    text = document.text
    end = len(text.rstrip(_BLANK))
    at = _skip(text, 0, end)
    marks = sorted(document.marks, key=lambda m: m.start)
    links = [m for m in marks if m.kind == "text_link"]
    entities = [] if len(marks) < _FEW else _counted(text, marks)
    parts: list[Part] = []
    while at < end:
        stop = _reach(text, at, end, room)
        if stop < end:
            fits = _reach(text, at, end, limit) == end
            stop = _cut(text, at, stop if fits else _reach(text, at, end, limit), document, links)
        while (crowded := _crowded(at, stop, entities)) < stop:
            stop = _cut(text, at, crowded, document, links)
        last = stop >= end
        close = at + len(text[at:stop].rstrip(_BLANK))
        if close > at:
            parts.append(part(text, at, close, marks, tail if last else ""))
        at = _skip(text, stop, end)
    return parts


def _counted(text: str, marks: Sequence[Mark]) -> list[Mark]:
    """Return the entities of the whole text in order, also those that the server adds itself."""
    ours = nest(tight(text, marks))
    taken = sorted((m.start, m.end) for m in ours if m.kind in ("code", "pre", "text_link"))
    for match in _FOUND_BY_ITSELF.finditer(text):
        around = bisect_right(taken, (match.start(), len(text))) - 1
        if around < 0 or taken[around][1] <= match.start():
            ours.append(Mark("url", match.start(), match.end()))
    return sorted(ours, key=lambda m: m.start)


def _crowded(start: int, stop: int, entities: Sequence[Mark]) -> int:
    """Return where the first entity begins that is too many for one message; `stop` = none is."""
    if len(entities) <= MAX_ENTITIES:
        return stop
    first = bisect_left(entities, start, key=lambda mark: mark.start)
    begun = sum(mark.end > start for mark in entities[:first])
    over = first + MAX_ENTITIES - begun
    return entities[over].start if over < len(entities) and entities[over].start < stop else stop


def _skip(text: str, at: int, end: int) -> int:
    return end - len(text[at:end].lstrip(_BLANK))


def _reach(text: str, start: int, end: int, limit: int) -> int:
    """Return the last index up to `end` with at most `limit` UTF-16 units after `start`."""
    stop = min(end, start + limit)
    while (excess := utf16_len(text[start:stop]) - limit) > 0:
        stop -= (excess + 1) // 2
    return stop


def _cut(text: str, start: int, stop: int, document: Document, links: Sequence[Mark]) -> int:
    """Return where to end a message that may reach to `stop`: at a block, line, word, character."""
    size = stop - start
    before = bisect_right(document.blocks, stop)
    block = document.blocks[before - 1] if before else 0
    if block >= start + max(1, size // 8):
        return block
    for pattern, least in (("\n\n", 2), ("\n", 4), (" ", 4), ("\n", 99), (" ", 99)):
        at = text.rfind(pattern, start + max(1, size // least), stop + 1)
        if at > start and (at := _before_link(text, start, at, links)) > start:
            return at
    at = stop
    while at > start and joins(text, at):
        at -= 1
    return _before_link(text, start, at if at > start else stop, links)


def _before_link(text: str, start: int, at: int, links: Sequence[Mark]) -> int:
    """Return `at`, or the start of the link that it would cut, if there is text before that."""
    for link in links:
        if link.start < at < link.end and text[start : link.start].strip(_BLANK):
            return link.start
    return at
