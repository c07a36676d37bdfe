"""Extracts text from Word and Excel files, without Office and without running anything in them."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from xml.parsers import expat

from aouo.agent.documents.kinds import MAX_UNPACKED_BYTES, Extract, Range, Unreadable, numbered, row

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main "
_STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main "
_HEADING = re.compile(r"[Hh]eading\s?([1-6])$")


def docx(data: bytes, wanted: Range) -> Extract:
    """Return paragraphs, headings, lists and tables, without footnotes, comments and pictures."""
    with zipfile.ZipFile(BytesIO(data)) as archive, archive.open("word/document.xml") as part:
        xml = part.read(MAX_UNPACKED_BYTES)
    return numbered(_Paragraphs().read(xml), wanted, "paragraphs")


def xlsx(data: bytes, wanted: Range) -> Extract:
    """Return the rows of every sheet as values, under its name; the range applies to each sheet."""
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        book = CalamineWorkbook.from_filelike(BytesIO(data))
        sheets = [(name, book.get_sheet_by_name(name)) for name in book.sheet_names]
    except (CalamineError, OSError) as error:
        raise Unreadable(f"The workbook cannot be opened: {str(error)[:200]}.") from error
    heads: list[str] = []
    total = 0
    for name, sheet in sheets:
        rows = [row(cells) for cells in sheet.to_python(skip_empty_area=False)]
        total = max(total, len(rows))
        shown = [line for number, line in enumerate(rows, 1) if wanted.holds(number)]
        heads.append(f"## {name} ({len(rows):,} rows)")
        heads += shown
    if wanted.first > max(total, 1):
        raise Unreadable(f"There are only {total:,} rows.")
    whole = numbered(heads, Range(), "rows")
    return Extract(whole.text, "rows", total, whole.note and "cut; ask for a range of rows")


class _Paragraphs:
    """Turns the XML of a Word document into lines; a table row is one line."""

    def __init__(self) -> None:
        self._done: list[str] = []
        self._text = ""
        self._style = ""
        self._in_text = False
        self._cells: list[list[str]] = []  # of each open table row its cells

    def read(self, xml: bytes) -> Iterator[str]:
        """Return the lines of a document.

        Raises:
            Unreadable: it is damaged, or declares entities, which could expand without end.
        """
        parser: Any = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = _refuse
        try:
            parser.Parse(xml, True)
        except expat.ExpatError as error:
            raise Unreadable("The document is damaged: its XML breaks off.") from error
        return iter(self._done)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        match _local(tag):
            case "t":
                self._in_text = True
            case "tab":
                self._text += "\t"
            case "br" | "cr":
                self._text += "\n"
            case "pStyle":
                self._style = attributes.get(f"{_WORD}val", attributes.get(f"{_STRICT}val", ""))
            case "numPr":
                self._style = self._style or "list"
            case "tr":
                self._cells.append([])
            case "tc" if self._cells:
                self._cells[-1].append("")
            case _:
                pass

    def _end(self, tag: str) -> None:
        match _local(tag):
            case "t":
                self._in_text = False
            case "p":
                self._paragraph()
            case "tr" if self._cells:
                self._put(row(self._cells.pop()))
            case _:
                pass

    def _characters(self, text: str) -> None:
        if self._in_text:
            self._text += text

    def _paragraph(self) -> None:
        text, style = self._text.strip(), self._style
        self._text = self._style = ""
        if not text:
            return
        if heading := _HEADING.search(style):
            text = f"{'#' * int(heading[1])} {text}"
        elif style == "Title":
            text = f"# {text}"
        elif style == "list" or style.startswith("List"):
            text = f"- {text}"
        self._put(text)

    def _put(self, text: str) -> None:
        """Add text to the open table cell, or as a line of its own."""
        if self._cells and self._cells[-1]:
            self._cells[-1][-1] += f" {text}"
        elif text:
            self._done.append(text)


def _refuse(*_: object) -> None:
    raise Unreadable("The document declares XML entities, which no Word file does; not read.")


def _local(tag: str) -> str:
    """Return the local name of a tag in Word's namespace; "" for others."""
    if tag.startswith(_WORD):
        return tag.removeprefix(_WORD)
    return tag.removeprefix(_STRICT) if tag.startswith(_STRICT) else ""
