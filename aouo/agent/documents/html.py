"""Turns a web page into Markdown: words, headings, lists, tables, links; nothing that is hidden.

It reads a stream of tags, so deep or broken nesting costs no more than the page's length.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

_SKIPPED = frozenset(
    {"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas"}
    | {"nav", "footer", "aside", "select", "button", "dialog"}
)
_BLOCKS = frozenset(
    {"p", "div", "section", "article", "main", "header", "ul", "ol", "dl", "table", "form"}
    | {"figure", "figcaption", "blockquote", "address", "hr", "details", "summary", "fieldset"}
)
_ROWS = frozenset({"tr", "li", "dt", "dd", "caption", "option"})
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
)
_ENDS_BY_ITSELF = frozenset({"p", "li", "dt", "dd", "tr", "td", "th", "option"})
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\r\n\f]+")
_MAX_LINK_CHARS = 300
_LEAST_MAIN_CHARS = 200
_MAX_DEPTH = 12

_Attributes = list[tuple[str, str | None]]


def markdown(page: str, base_url: str = "") -> str:
    """Return the readable part of `page`, or only its main part if it has one.

    Links are made absolute with `base_url`. The page's title comes first.
    """
    reader = _TextParser(base_url)
    reader.feed(page)
    reader.close()
    return reader.result()


class _TextParser(HTMLParser):
    """Writes lines of Markdown while it parses tags."""

    def __init__(self, base_url: str) -> None:
        super().__init__(convert_charrefs=True)
        self._base = base_url
        self._lines: list[tuple[bool, str]] = []  # whether in the main part, the line
        self._line = ""
        self._title = ""
        self._in_title = False
        self._main = 0
        self._skips: tuple[str, int] = (
            "",
            0,
        )  # the tag that is skipped, and the depth in tags of that name
        self._pre = 0
        self._quotes = 0
        self._lists: list[int] = []  # of each open list its next number, 0 = bullets
        self._cells = 0  # of the open row
        self._rows: list[int] = []  # of each open table the rows so far
        self._link: tuple[str, int] | None = None  # where to, and where its text begins

    def result(self) -> str:
        self._break()
        main = [line for inside, line in self._lines if inside]
        if sum(map(len, main)) < _LEAST_MAIN_CHARS:
            main = [line for _, line in self._lines]
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(main)).strip()
        title = _SPACES.sub(" ", self._title).strip()
        return f"# {title}\n\n{text}" if title and not text.startswith(f"# {title}\n") else text

    def handle_starttag(self, tag: str, attrs: _Attributes) -> None:
        name, depth = self._skips
        if name in _ENDS_BY_ITSELF and (tag == name or tag in _BLOCKS or tag in _HEADINGS):
            self._skips = ("", 0)
        elif depth:
            self._skips = (name, depth + (tag == name))
            return
        if tag not in _VOID and (tag in _SKIPPED or _is_hidden(attrs)):
            self._skips = (tag, 1)
            return
        self._open(tag, dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        name, depth = self._skips
        if name in _ENDS_BY_ITSELF and tag != name and tag in _BLOCKS:
            self._skips = ("", 0)
        elif depth:
            left = depth - (tag == name)
            self._skips = (name, left) if left else ("", 0)
            return
        self._close(tag)

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title += data[:500]
        elif self._skips[1]:
            return
        elif self._pre:
            *whole, rest = (self._line + data).split("\n")
            for line in whole:
                self._put(line)
            self._line = rest
        else:
            text = _SPACES.sub(" ", data)
            self._line += text.lstrip(" ") if self._line[-1:] in ("", " ") else text

    def _open(self, tag: str, attributes: dict[str, str | None]) -> None:
        match tag:
            case "title":
                self._in_title = not self._title
            case "br":
                self._flush()
            case "pre":
                self._break()
                self._put("```")
                self._pre += 1
            case "code" if not self._pre:
                self._line += "`"
            case "a":
                self._link = (self._whole(attributes.get("href") or ""), len(self._line))
            case "img" if alt := (attributes.get("alt") or "").strip():
                self._line += f"[image: {_SPACES.sub(' ', alt)[:_MAX_LINK_CHARS]}]"
            case "li":
                self._item()
            case "td" | "th":
                self._line += " | " if self._cells else "| "
                self._cells += 1
            case _:
                self._open_block(tag)

    def _open_block(self, tag: str) -> None:
        if tag in _HEADINGS:
            self._break()
            self._line = f"{_HEADINGS[tag]} "
        elif tag == "tr":
            self._end_row()
        elif tag in _ROWS or (tag in _BLOCKS and self._cells):
            self._flush()
        elif tag in _BLOCKS:
            self._break()
        match tag:
            case "main" | "article":
                self._main += 1
            case "ul" | "ol":
                self._lists.append(1 if tag == "ol" else 0)
            case "table":
                self._rows.append(0)
                self._cells = 0
            case "blockquote":
                self._quotes += 1
            case _:
                pass

    def _close(self, tag: str) -> None:
        match tag:
            case "title":
                self._in_title = False
            case "pre" if self._pre:
                self._flush()
                self._pre -= 1
                self._put("```")
                self._break()
            case "code" if not self._pre:
                self._line += "`"
            case "a" if self._link:
                self._end_link(*self._link)
            case "tr":
                self._end_row()
            case _:
                self._close_block(tag)

    def _close_block(self, tag: str) -> None:
        if tag in _ROWS:
            self._flush()
        elif tag in _HEADINGS or (tag in _BLOCKS and self._cells == 0):
            self._break()
        match tag:
            case "main" | "article":
                self._main = max(self._main - 1, 0)
            case "ul" | "ol" if self._lists:
                self._lists.pop()
            case "table" if self._rows:
                self._end_row()
                self._rows.pop()
                self._break()
            case "blockquote":
                self._quotes = max(self._quotes - 1, 0)
            case _:
                pass

    def _item(self) -> None:
        self._flush()
        depth = min(len(self._lists), _MAX_DEPTH)
        number = self._lists[-1] if self._lists else 0
        if number:
            self._lists[-1] += 1
        self._line = "  " * (depth - 1) + (f"{number}. " if number else "- ")

    def _end_row(self) -> None:
        if not self._cells:
            return
        self._put(f"{self._line.rstrip()} |")
        self._line = ""
        if self._rows and self._rows[-1] == 0:
            self._put("|" + " --- |" * self._cells)
        if self._rows:
            self._rows[-1] += 1
        self._cells = 0

    def _end_link(self, url: str, start: int) -> None:
        self._link = None
        text = self._line[start:].strip()
        if url and text and len(self._line) >= start:
            lead = self._line[:start] + (" " if self._line[start : start + 1] == " " else "")
            self._line = f"{lead}[{text}]({url})"

    def _whole(self, href: str) -> str:
        try:
            url = urljoin(self._base, href.strip())
        except ValueError:
            return ""
        worth = url.startswith(("http://", "https://")) and href.strip()[:1] not in ("", "#")
        return url if worth and len(url) <= _MAX_LINK_CHARS else ""

    def _flush(self) -> None:
        """End the line, if there is one; inside a table's cell add a space instead."""
        if self._cells:
            self._line = f"{self._line.rstrip()} "
        elif self._line.strip():
            self._put(self._line.rstrip())
            self._line = ""
        else:
            self._line = ""
        if self._link:
            self._link = (self._link[0], len(self._line))

    def _break(self) -> None:
        """End the line and the block."""
        self._flush()
        self._lines.append((self._main > 0, ""))

    def _put(self, line: str) -> None:
        quote = "> " * min(self._quotes, _MAX_DEPTH)
        self._lines.append((self._main > 0, quote + line))


def _is_hidden(attributes: _Attributes) -> bool:
    """Whether an element is hidden from people, so that its words are left out."""
    for name, value in attributes:
        if name == "hidden" or (name == "aria-hidden" and (value or "").lower() == "true"):
            return True
        if name == "style" and _HIDING.search(value or ""):
            return True
    return False
