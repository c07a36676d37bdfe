"""Parses Markdown, after escaping what the parser would lose or misread."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyromark import Options
    from pyromark.event import Event

_LATEX = re.compile(r"\\[A-Za-z]{2,}|[\^_]")
_LATEX_BRACKETS = re.compile(
    r"\\\[((?:[^\\\n]|\\[^\[\]()]|\n(?!\n))+)\\\]|\\\(((?:[^\\\n]|\\[^\[\]()]|\n(?!\n))+)\\\)"
)
_LATEX_MAX = 1000  # characters of one formula worth converting


def options(*, math: bool = False) -> "Options":
    from pyromark import Options

    flags = (
        Options.ENABLE_TABLES
        | Options.ENABLE_STRIKETHROUGH
        | Options.ENABLE_TASKLISTS
        | Options.ENABLE_FOOTNOTES
    )
    return flags | Options.ENABLE_MATH if math else flags


def events(text: str, flags: "Options") -> Iterator[tuple["Event", int, int]]:
    from pyromark import events_with_range

    for event, span in events_with_range(text, options=flags, merge_text=True):
        yield event, span["start"], span["end"]


def parse(markdown: str) -> tuple[str, list[tuple["Event", int, int]]]:
    """Return the source (`markdown` with a few escapes added) and the parser's events of it."""
    text = _keep_unused_definitions(markdown) if "]:" in markdown else markdown
    if _LATEX.search(text) and ("$" in text or r"\(" in text or r"\[" in text):
        text = _dollar_latex(text)
        flags = options(math=True)
        found = list(events(text, flags))
        prices = _prices(found, text)
        if not prices:
            return text, found
        text = _insert(text, [(at, "\\") for at in prices])
        found = list(events(text, flags))
        if not _prices(found, text):
            return text, found
    return text, list(events(text, options()))


def _prices(found: Iterable[tuple["Event", int, int]], text: str) -> list[int]:
    """Return the offsets of dollar signs that belong to money or shell variables, not formulas."""
    source = text.encode()
    signs: list[int] = []
    for event, start, end in found:
        if isinstance(event, str) or not ("InlineMath" in event or "DisplayMath" in event):
            continue
        if source[end : end + 1].isalnum() or not _LATEX.search(source[start:end].decode()):
            signs += [start, end - 1]
            if "DisplayMath" in event:
                signs += [start + 1, end - 2]
    return signs


def _keep_unused_definitions(markdown: str) -> str:
    """Escape `[label]: word` where nothing links to it: the parser would drop the line."""
    from pyromark import reference_definitions

    definitions = reference_definitions(markdown, options=options())
    if not definitions:
        return markdown
    used: set[str] = set()
    for event, _, _ in events(markdown, options()):
        if isinstance(event, dict) and "Start" in event and isinstance(event["Start"], dict):
            tag = event["Start"]
            if "Link" in tag:
                used.add(_label(tag["Link"]["id"]))
            elif "Image" in tag:
                used.add(_label(tag["Image"]["id"]))
    edits: list[tuple[int, str]] = []
    source = markdown.encode()
    for label, definition in definitions.items():
        if _label(label) in used:
            continue
        start, end = definition["span"]["start"], definition["span"]["end"]
        start = source.index(b"[", start)
        edits.append((start, "\\"))
        if source[start - 1 : start] in (b"", b"\n"):
            edits.append((end, "\n"))  # else the next definition would become text too
    return _insert(markdown, edits)


def _label(label: str) -> str:
    return " ".join(label.casefold().split())


def _dollar_latex(markdown: str) -> str:
    r"""Write `\(x^2\)` and `\[x^2\]` with dollar signs, except in code."""
    if r"\(" not in markdown and r"\[" not in markdown:
        return markdown
    source = markdown.encode()
    pieces: list[str] = []
    done = 0
    for event, start, end in events(markdown, options()):
        if isinstance(event, dict) and ("Code" in event or _is_code_block(event)):
            pieces += [_LATEX_BRACKETS.sub(_dollars, source[done:start].decode())]
            pieces += [source[start:end].decode()]
            done = end
    pieces.append(_LATEX_BRACKETS.sub(_dollars, source[done:].decode()))
    return "".join(pieces)


def _is_code_block(event: "Event") -> bool:
    if isinstance(event, str) or "Start" not in event:
        return False
    tag = event["Start"]
    return isinstance(tag, dict) and "CodeBlock" in tag


def _dollars(match: re.Match[str]) -> str:
    formula, sign = (match[1], "$$") if match[1] else (match[2], "$")
    if not _LATEX.search(formula) or "$" in formula or "`" in formula:
        return match[0]
    return f"{sign}{formula.strip()}{sign}"


def _insert(text: str, edits: Iterable[tuple[int, str]]) -> str:
    """Insert strings at UTF-8 offsets of `text`."""
    source = text.encode()
    pieces: list[str] = []
    done = 0
    for at, new in sorted(edits):
        pieces += [source[done:at].decode(), new]
        done = at
    return "".join([*pieces, source[done:].decode()])


def formula(latex: str) -> str:
    """Return LaTeX in Unicode characters, or unchanged if it is too long."""
    if len(latex) > _LATEX_MAX or latex.count("{") > 50:
        return latex
    from telegramify_markdown import convert

    text, _ = convert(f"$${latex}$$")
    return text.strip() or latex
