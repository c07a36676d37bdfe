"""Turns the parser's events, one by one, into a document."""

import re
from typing import TYPE_CHECKING

from aouo.words.markdown.parsing import formula
from aouo.words.markdown.tables import Cell, Document, Output, Table, lay_out

if TYPE_CHECKING:
    from pyromark.event import Event

_RULE = "———"
_BULLETS = ("•", "◦", "▪")
_INDENT = "   "
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


def _is_inline(event: "Event") -> bool:
    if isinstance(event, str) or "End" in event:
        return False
    if "Start" in event:
        tag = event["Start"]
        return tag in _STYLES if isinstance(tag, str) else "Link" in tag or "Image" in tag
    return "Html" not in event


class Walk:
    """Writes a document from the parser's events."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._out = Output()
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
            self._write_code(formula(event["InlineMath"]))
        elif "DisplayMath" in event:
            self._write_code(formula(event["DisplayMath"]))
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
        """Start a block on its own line, after a blank line if the source has one there."""
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
                self._out = Output()
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
        """Whether the characters of a mark are literal: in an address, a name, `~10`."""
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
                self._row.append(self._out.cell())
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
        """Close a row; the text of cells beyond the head's number goes into its last cell."""
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
