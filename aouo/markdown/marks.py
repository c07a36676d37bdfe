"""Turns Markdown as a model writes it into plain text with marks over it.

The parser is the CommonMark one under telegramify-markdown, whose own `convert` loses HTML
blocks, links in tables, prices between dollar signs and words of unused definitions.
"""

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from aouo.markdown.entities import Mark
from aouo.markdown.parsing import events, options, parse
from aouo.markdown.walk import Walk
from aouo.markdown.writing import Document

if TYPE_CHECKING:
    from pyromark.event import Event

__all__ = ["Document", "block_starts", "first_heading", "read"]

_BARS = re.compile(r"\|\||\n\n")


def read(markdown: str) -> Document:
    """Render Markdown of any length; a mark that is not closed lasts to the end."""
    source, found = parse(markdown)
    walk = Walk(source.encode())
    for event, start, end in found:
        walk.take(event, start, end)
    return _hide_spoilers(walk.document())


def block_starts(markdown: str) -> list[tuple[int, int]]:
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


def _lines_to_repeat(event: "Event") -> int:
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
