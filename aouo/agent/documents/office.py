"""Extracts text from Word files, without Office and without running anything in them."""

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
_INSIDE = frozenset({"t", "txbxContent", "docPr", "blip", "Fallback"})
"""What is read of other namespaces: a formula's words, text boxes, pictures."""
_ELSEWHERE = frozenset({"moveFrom", "del", "Fallback"})
"""What was moved away or deleted, or says the same as what stands before it for older readers."""
_HEADING = re.compile(r"[Hh]eading\s?([1-6])$")


def docx(data: bytes, wanted: Range) -> Extract:
    """Return paragraphs, headings, lists and tables; notes and comments where they belong."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        names = set(archive.namelist())

        def part(name: str) -> bytes:
            with archive.open(name) as opened:
                return opened.read(MAX_UNPACKED_BYTES)

        notes: dict[tuple[str, str], str] = {}
        for name in ("footnotes", "endnotes", "comments"):
            if f"word/{name}.xml" in names:
                notes |= _Paragraphs({}).notes_in(part(f"word/{name}.xml"))
        reader = _Paragraphs(notes)
        lines = reader.read(part("word/document.xml"))
        margins = [name for name in names if re.fullmatch(r"word/(header|footer)\d*\.xml", name)]
        worded = any(b"<w:t" in part(name) for name in margins)
    left_out = [
        "deleted words of tracked changes are left out" if reader.changed else "",
        "headers and footers are left out" if worded else "",
    ]
    return numbered(lines, wanted, "paragraphs", note="; ".join(filter(None, left_out)))


class _Paragraphs:
    """Turns the XML of a Word document into lines; a table row is one line.

    `notes` are footnotes, endnotes and comments, by what refers to them: (tag, id).
    """

    def __init__(self, notes: dict[tuple[str, str], str]) -> None:
        self.changed = False
        self._notes = notes
        self._done: list[str] = []
        self._text = ""
        self._style = ""
        self._alt = ""
        self._in_text = False
        self._cells: list[list[str]] = []  # of each open table row its cells
        self._skipped = 0  # open elements that are not read
        self._noted = (("", ""), "")
        self._around: list[tuple[str, str]] = []  # paragraphs that a text box stands in

    def read(self, xml: bytes) -> Iterator[str]:
        """Return the lines of a document.

        Raises:
            Unreadable: it is damaged, or declares entities, which could expand without end.
        """
        self._parse(xml)
        return iter(self._done)

    def notes_in(self, xml: bytes) -> dict[tuple[str, str], str]:
        """Return the notes or comments of a part, by what refers to them. Raises: as `read`."""
        self._parse(xml)
        return self._notes

    def _parse(self, xml: bytes) -> None:
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

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = _local(tag)
        if self._skipped or name in _ELSEWHERE:
            self._skipped += 1
            self.changed = self.changed or name in ("del", "moveFrom")
            return
        match name:
            case "t":
                self._in_text = True
            case "tab":
                self._text += "\t"
            case "br" | "cr":
                self._text += "\n"
            case "pStyle":
                self._style = _attribute(attributes, "val")
            case "numPr":
                self._style = self._style or "list"
            case "tr":
                self._cells.append([])
            case "tc" if self._cells:
                self._cells[-1].append("")
            case "footnote" | "endnote" | "comment":
                self._done = []
                who = _attribute(attributes, "author")
                self._noted = (f"{name}Reference", _attribute(attributes, "id")), who
            case "footnoteReference" | "endnoteReference" | "commentReference":
                self._text += self._notes.get((name, _attribute(attributes, "id")), "")
            case "txbxContent":
                self._around.append((self._text, self._style))
                self._text = self._style = ""
            case "docPr":
                self._alt = attributes.get("descr", "")
            case "blip":
                self._text += f" [picture{f': {self._alt}' if self._alt else ''}] "
            case _:
                pass

    def _end(self, tag: str) -> None:
        if self._skipped:
            self._skipped -= 1
            return
        match _local(tag):
            case "t":
                self._in_text = False
            case "p":
                self._paragraph()
            case "tr" if self._cells:
                self._put(row(self._cells.pop()))
            case "txbxContent" if self._around:
                self._paragraph()
                self._text, self._style = self._around.pop()
            case "footnote" | "endnote" | "comment":
                self._note()
            case _:
                pass

    def _note(self) -> None:
        """Keep the note that ends; Word's own lines above notes hold no words."""
        place, who = self._noted
        words = " ".join(self._done)
        if words:
            kind = f"comment{f' by {who}' if who else ''}" if "comment" in place[0] else "note"
            self._notes[place] = f" [{kind}: {words}]"

    def _characters(self, text: str) -> None:
        if self._in_text and not self._skipped:
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


def _attribute(attributes: dict[str, str], name: str) -> str:
    return attributes.get(f"{_WORD}{name}", attributes.get(f"{_STRICT}{name}", ""))


def _local(tag: str) -> str:
    """Return the local name of a tag of Word's, or of drawings and formulas in it; else ""."""
    space, _, name = tag.rpartition(" ")
    return name if f"{space} " in (_WORD, _STRICT) or name in _INSIDE else ""
