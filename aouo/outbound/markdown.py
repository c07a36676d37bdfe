"""Markdown as a model writes it becomes plain text with marks over it.

The parser is the CommonMark one under telegramify-markdown; its own `convert` loses HTML
blocks, links in tables, prices between dollar signs and words of unused definitions.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aouo.outbound.entities import Mark
from aouo.outbound.tables import Cell, Table, lay_out

if TYPE_CHECKING:
    from pyromark import Options
    from pyromark.event import Event

_RULE = "———"
_BULLETS = ("•", "◦", "▪")
_INDENT = "   "
_LATEX = re.compile(r"\\[A-Za-z]{2,}|[\^_]")
_LATEX_BRACKETS = re.compile(
    r"\\\[((?:[^\\\n]|\\[^\[\]()]|\n(?!\n))+)\\\]|\\\(((?:[^\\\n]|\\[^\[\]()]|\n(?!\n))+)\\\)"
)
_LATEX_MAX = 1000  # characters of one formula worth converting
_BARS = re.compile(r"\|\||\n\n")
_BREAK_TAG = re.compile(r"<br\s*/?>", re.IGNORECASE)
_URL_BEFORE = re.compile(rb"https?://[^\s()<>\[\]]*\Z", re.IGNORECASE)
_DUNDER = re.compile(
    rb"__(?:init|main|name|file|str|repr|call|enter|exit|new|del|dict|doc|all|slots|len|iter"
    rb"|next|eq|hash|getitem|setitem|getattr|class|version)__|__[a-z0-9]+(?:_[a-z0-9]+)*__(?=\(|\.\w)"
)
_LINK = re.compile(
    r"https?://(?:[^\s/?#@]*@)?(?:[^\s/?#:@.\[\]]+(?:\.[^\s/?#:@.\[\]]+)+|\[[0-9a-f:.]+\])\.?"
    r"(?::\d{1,5})?(?:[/?#].*)?|tg://\S+|ton://\S+|tonsite://\S+",
    re.IGNORECASE | re.DOTALL,
)
_STYLES = {"Strong": "bold", "Emphasis": "italic", "Strikethrough": "strikethrough"}


@dataclass(frozen=True, slots=True)
class Document:
    """A whole text, its marks, and where its blocks start (a heading counts with what follows)."""

    text: str
    marks: tuple[Mark, ...]
    blocks: tuple[int, ...]


def read(markdown: str) -> Document:
    """Render Markdown of any length; whatever is left open lasts to the end."""
    source, events = _parse(markdown)
    walk = _Walk(source.encode())
    for event, start, end in events:
        walk.take(event, start, end)
    return _hide_spoilers(walk.document())


def block_starts(markdown: str) -> list[tuple[int, int]]:
    """Where the top-level blocks and list items of `markdown` start.

    With each, how many of its first lines a part cut off from it needs again: the opening of
    a fence, the head of a table.
    """
    source = markdown.encode()
    placed: list[tuple[int, int]] = []
    depth = done = chars = 0
    for event, start, _ in _events(markdown, _options()):
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
    """The words of the first heading, "" = there is none."""
    words: list[str] | None = None
    for event, _, _ in _events(markdown, _options()):
        if isinstance(event, str):
            continue
        tag = next(iter(event.values()))
        if "Start" in event and isinstance(tag, dict) and "Heading" in tag:
            words = []
        elif "End" in event and words is not None and (tag == "Heading" or "Heading" in tag):
            return " ".join("".join(words).split())
        elif words is not None and ("Text" in event or "Code" in event):
            words.append(str(tag))
    return ""


def _lines_to_repeat(event: "Event") -> int:
    if isinstance(event, str) or "Start" not in event or isinstance(event["Start"], str):
        return 0
    tag = event["Start"]
    if "CodeBlock" in tag:
        return 0 if isinstance(tag["CodeBlock"], str) else 1
    return 2 if "Table" in tag else 0


def _options(*, math: bool = False) -> "Options":
    from pyromark import Options

    options = (
        Options.ENABLE_TABLES
        | Options.ENABLE_STRIKETHROUGH
        | Options.ENABLE_TASKLISTS
        | Options.ENABLE_FOOTNOTES
    )
    return options | Options.ENABLE_MATH if math else options


def _events(text: str, options: "Options") -> Iterator[tuple["Event", int, int]]:
    from pyromark import events_with_range

    for event, span in events_with_range(text, options=options, merge_text=True):
        yield event, span["start"], span["end"]


def _parse(markdown: str) -> tuple[str, list[tuple["Event", int, int]]]:
    """The parser's events, and the source they speak of: `markdown` with a few escapes added."""
    text = _keep_unused_definitions(markdown) if "]:" in markdown else markdown
    if _LATEX.search(text) and ("$" in text or r"\(" in text or r"\[" in text):
        text = _dollar_latex(text)
        options = _options(math=True)
        events = list(_events(text, options))
        prices = _prices(events, text)
        if not prices:
            return text, events
        text = _insert(text, [(at, "\\") for at in prices])
        events = list(_events(text, options))
        if not _prices(events, text):
            return text, events
    return text, list(_events(text, _options()))


def _prices(events: Iterable[tuple["Event", int, int]], text: str) -> list[int]:
    """The dollar signs of what is money or a shell variable rather than a formula."""
    source = text.encode()
    found: list[int] = []
    for event, start, end in events:
        if isinstance(event, str) or not ("InlineMath" in event or "DisplayMath" in event):
            continue
        if source[end : end + 1].isalnum() or not _LATEX.search(source[start:end].decode()):
            found += [start, end - 1]
            if "DisplayMath" in event:
                found += [start + 1, end - 2]
    return found


def _keep_unused_definitions(markdown: str) -> str:
    """Escape `[label]: word` where nothing links to it: the parser would drop the line."""
    from pyromark import reference_definitions

    definitions = reference_definitions(markdown, options=_options())
    if not definitions:
        return markdown
    used: set[str] = set()
    for event, _, _ in _events(markdown, _options()):
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
            edits.append((end, "\n"))  # or the definition after it would become text too
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
    for event, start, end in _events(markdown, _options()):
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


def _formula(latex: str) -> str:
    """LaTeX in Unicode signs, or as written where that is hopeless."""
    if len(latex) > _LATEX_MAX or latex.count("{") > 50:
        return latex
    from telegramify_markdown import convert

    text, _ = convert(f"$${latex}$$")
    return text.strip() or latex


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


def _is_inline(event: "Event") -> bool:
    if isinstance(event, str) or "End" in event:
        return False
    if "Start" in event:
        tag = event["Start"]
        return tag in _STYLES if isinstance(tag, str) else "Link" in tag or "Image" in tag
    return "Html" not in event


class _Output:
    """Text being written and the marks over it."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.length = 0
        self.newlines = 0
        self.marks: list[Mark] = []

    def write(self, text: str) -> None:
        if text:
            self.pieces.append(text)
            self.length += len(text)
            bare = len(text.rstrip("\n"))
            self.newlines = len(text) - bare + (0 if bare else self.newlines)

    def mark(self, kind: str, start: int, *, url: str = "", language: str = "") -> None:
        if start < self.length:
            self.marks.append(Mark(kind, start, self.length, url, language))

    def drop(self) -> None:
        """Take back the last write."""
        self.length -= len(self.pieces.pop())

    def since(self, start: int) -> str:
        """What was written from `start` on, which must be where a write began."""
        size = self.length - start
        count = 0
        while size > 0:
            count += 1
            size -= len(self.pieces[-count])
        return "".join(self.pieces[-count:]) if count else ""


class _Walk:
    """Follow the parser's events and write."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._out = _Output()
        self._page = self._out  # where `_out` returns to after a table's cell
        self._ended = False  # a block inside an item ended and text may follow without a new one
        self._blocks: list[int] = []
        self._depth = 0
        self._fresh = True  # a bullet or quote was opened and nothing is in it yet
        self._after_heading = False
        self._lists: list[int | None] = []
        self._quotes: list[int] = []
        self._styles: list[tuple[str, int, str]] = []
        self._links: list[tuple[str, int]] = []
        self._verbatim: list[str] | None = None  # the lines of a code or HTML block
        self._language = ""
        self._table = Table((), (), ())
        self._row: list[Cell] = []
        self._cell_end = 0

    def document(self) -> Document:
        return Document("".join(self._out.pieces), tuple(self._out.marks), tuple(self._blocks))

    def take(self, event: "Event", start: int, end: int) -> None:
        if self._ended and _is_inline(event):
            self._begin(start)
        if isinstance(event, str):
            self._break_or_rule(event, start)
        elif "Text" in event:
            self._write(event["Text"])
        elif "Start" in event:
            tag = event["Start"]
            if isinstance(tag, str):
                self._open(tag, start, end)
            else:
                self._open_with(event, start)
            self._depth += 1
        elif "End" in event:
            self._depth -= 1
            tag = event["End"]
            self._close(tag if isinstance(tag, str) else next(iter(tag)), end)
        elif "Html" in event:
            self._write(event["Html"])
        elif "InlineHtml" in event:
            html = event["InlineHtml"]
            self._write("\n" if _BREAK_TAG.fullmatch(html) else html)
        elif "Code" in event:
            self._write_code(event["Code"])
        elif "InlineMath" in event:
            self._write_code(_formula(event["InlineMath"]))
        elif "DisplayMath" in event:
            self._write_code(_formula(event["DisplayMath"]))
        elif "FootnoteReference" in event:
            self._write(f"[{event['FootnoteReference']}]")
        else:
            if self._lists[-1] is None:
                self._out.drop()  # the box stands for the bullet
            self._write("☑ " if event["TaskListMarker"] else "☐ ")
            self._fresh = True

    def _break_or_rule(self, event: str, start: int) -> None:
        if event == "Rule":
            self._begin(start)
            self._write(_RULE)
        else:
            line = self._source.find(b"\n", start) + 1
            indented = self._source[line : line + 1] in (b" ", b"\t")  # else it looks unlisted
            self._write("\n" + _INDENT * len(self._lists) * indented)

    def _write(self, text: str) -> None:
        if self._verbatim is not None:
            self._verbatim.append(text)
        elif text:
            self._out.write(text)
            self._fresh = False

    def _write_code(self, code: str) -> None:
        start = self._out.length
        self._write(code)
        self._out.mark("code", start)

    def _begin(self, start: int, *, indented: bool = True) -> None:
        """Start a block on its own line, after a blank one if the source has it so."""
        if self._out.length and not self._fresh:
            wanted = (
                2
                if re.search(rb"\n[ \t>]*\n[ \t>]*\Z", self._source[max(0, start - 300) : start])
                else 1
            )
            self._out.write("\n" * (wanted - self._out.newlines))
            if indented:
                self._out.write(_INDENT * len(self._lists))
        if self._depth == 0 and not self._after_heading:
            self._blocks.append(self._out.length)
        self._after_heading = self._ended = False

    def _open(self, tag: str, start: int, end: int) -> None:
        match tag:
            case "Paragraph":
                self._begin(start)
            case "HtmlBlock":
                self._begin(start)
                self._verbatim = []
            case "Item":
                self._open_item(start)
            case "TableHead" | "TableRow":
                self._row = []
            case "TableCell":
                self._out = _Output()
            case "Strong" | "Emphasis" | "Strikethrough":
                size = 2 if tag == "Strong" else 1
                literal = (
                    self._source[start : start + size].decode()
                    if self._is_text(tag, start, end)
                    else ""
                )
                self._write(literal)
                self._styles.append((_STYLES[tag], self._out.length, literal))
            case _:
                pass

    def _open_with(self, event: "Event", start: int) -> None:
        if isinstance(event, str) or "Start" not in event or isinstance(event["Start"], str):
            return
        tag = event["Start"]
        if "Heading" in tag:
            self._begin(start)
            self._styles.append(("bold", self._out.length, ""))
        elif "CodeBlock" in tag:
            kind = tag["CodeBlock"]
            self._begin(start, indented=False)
            self._verbatim = []
            info = "" if isinstance(kind, str) else kind["Fenced"]
            self._language = re.split(r"[\s,{]", info, maxsplit=1)[0][:32]
        elif "BlockQuote" in tag:
            self._begin(start)
            self._quotes.append(self._out.length)
            self._fresh = True
        elif "List" in tag:
            if self._depth == 0:
                self._begin(start)
                self._fresh = True
            self._lists.append(tag["List"])
        elif "Link" in tag:
            self._links.append((tag["Link"]["dest_url"], self._out.length))
        elif "Image" in tag:
            self._links.append((tag["Image"]["dest_url"], self._out.length))
        elif "Table" in tag:
            self._begin(start, indented=False)
            self._table = Table((), (), tuple(tag["Table"]))
        elif "FootnoteDefinition" in tag:
            self._begin(start)
            self._write(f"[{tag['FootnoteDefinition']}] ")
            self._fresh = True

    def _open_item(self, start: int) -> None:
        number = self._lists[-1]
        if number is not None:
            self._lists[-1] = number + 1
        depth = len(self._lists) - 1
        self._lists.pop()  # the bullet stands at the indent of the list around it
        self._begin(start)
        self._lists.append(None if number is None else number + 1)
        if self._depth == 1 and self._out.length not in self._blocks[-1:] and len(self._blocks) > 0:
            self._blocks.append(self._out.length - len(_INDENT) * depth)
        self._write(f"{_BULLETS[min(depth, 2)]} " if number is None else f"{number}. ")
        self._fresh = True

    def _is_text(self, tag: str, start: int, end: int) -> bool:
        """Whether the signs of a style are meant as written: in an address, a name, `~10`."""
        if tag == "Strikethrough":
            return self._source[start + 1 : start + 2] != b"~"
        if tag == "Strong":
            match = _DUNDER.match(self._source, start)
            if match is not None and match.end() == end:
                return True
        return _URL_BEFORE.search(self._source, max(0, start - 300), start) is not None

    def _close(self, tag: str, end: int) -> None:
        match tag:
            case "Strong" | "Emphasis" | "Strikethrough" | "Heading":
                kind, since, literal = self._styles.pop()
                self._write(literal)
                if not literal and all(kind != outer or text for outer, _, text in self._styles):
                    self._out.mark(kind, since)
                self._after_heading = tag == "Heading" and self._depth == 0
            case "Link" | "Image":
                self._close_link()
            case "CodeBlock" | "HtmlBlock":
                self._close_verbatim("pre" if tag == "CodeBlock" else "")
            case "BlockQuote":
                since = self._quotes.pop()
                if not self._quotes:
                    self._out.mark("blockquote", since)
            case "List":
                self._lists.pop()
            case "Item":
                self._fresh = False
            case "TableCell":
                self._row.append(_cell(self._out))
                self._out, self._cell_end = self._page, end
            case "TableHead":
                self._table = Table(tuple(self._row), (), self._table.alignments)
            case "TableRow":
                self._close_row(end)
            case "Table":
                self._close_table()
            case _:
                pass
        self._ended = self._ended or tag in (
            "CodeBlock",
            "HtmlBlock",
            "BlockQuote",
            "List",
            "Table",
        )

    def _close_link(self) -> None:
        url, since = self._links.pop()
        label = self._out.since(since).strip()
        if self._links:  # an image that is a link: the link goes on
            if not label:
                self._write(url)
        elif _LINK.fullmatch(url):
            self._write("" if label else url)
            self._out.mark("text_link", since, url=url.replace(" ", "%20"))
        else:
            shown = re.sub(r"\A(?:mailto|tel):", "", url)
            if shown and shown != label and not shown.startswith("#"):
                self._write(f" ({shown})" if label else shown)

    def _close_verbatim(self, kind: str) -> None:
        text = "".join(self._verbatim or []).removesuffix("\n").expandtabs(4)
        self._verbatim = None
        since = self._out.length
        self._write(text)
        if kind:
            self._out.mark(kind, since, language=self._language)

    def _close_row(self, end: int) -> None:
        """Cells beyond the head's number stay readable in the last one."""
        spare = self._source[self._cell_end : end].decode().replace("|", " ").split()
        if spare and self._row:
            last = self._row[-1]
            self._row[-1] = Cell(f"{last.text} {' '.join(spare)}".strip(), last.marks)
        rows = (*self._table.rows, tuple(self._row))
        self._table = Table(self._table.head, rows, self._table.alignments)

    def _close_table(self) -> None:
        laid = lay_out(self._table)
        start = self._out.length
        self._write(laid.text)
        self._out.marks += [mark.moved(start) for mark in laid.marks]


def _cell(output: _Output) -> Cell:
    text = "".join(output.pieces)
    left = len(text) - len(text.lstrip())
    return Cell(text.strip(), tuple(mark.moved(-left) for mark in output.marks))
