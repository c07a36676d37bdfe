"""Recognises the kind of a file by its first bytes, and extracts a part of a long one."""

from __future__ import annotations

import codecs
import re
import unicodedata
import zipfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import Literal, TypeAlias

from aouo.plumbing import magic


class Unreadable(Exception):
    """The document cannot be read; `str` is a sentence for the model. Only `documents` uses it."""


_Kind: TypeAlias = Literal["pdf", "docx", "xlsx", "csv", "html", "text"]
MAX_UNPACKED_BYTES = 100_000_000
_MAX_MEMBERS = 10_000
_BY_MAGIC = (
    (b"\x1f\x8b", "packed with gzip"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\xd0\xcf\x11\xe0", "an Office file of the old kind; save it as .docx or .xlsx"),
    (b"{\\rtf", "an RTF file; save it as .docx"),
)


def kind_of(data: bytes, name: str) -> _Kind:
    """Return the kind to read `data` as; the name decides only between kinds of text.

    Raises:
        Unreadable: it is no supported document; says what it is.
    """
    if b"%PDF-" in data[:1024]:
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        return _packed(data)
    if what := next((what for start, what in _BY_MAGIC if data.startswith(start)), _medium(data)):
        raise Unreadable(f"This is {what}, no document that can be read.")
    if b"\0" in data[:_LOOKED_AT_BYTES] and not utf_16_of(data):
        raise Unreadable("This is no text and no kind of document that is known here.")
    suffix = name.lower().rpartition(".")[2]
    if suffix in ("csv", "tsv"):
        return "csv"
    start = data[:1024].lstrip().lower()
    if suffix in ("html", "htm", "xhtml") or start.startswith((b"<!doctype html", b"<html")):
        return "html"
    return "text"


def _medium(data: bytes) -> str:
    """Return what a picture, sound or film is called, "" = it is none."""
    medium, _, form = magic.type_of(data).partition("/")
    called = {"image": "a picture", "audio": "sound", "video": "a film"}.get(medium)
    return f"{called} ({form.removeprefix('x-').upper()})" if called else ""


def why_not_read(data: bytes, name: str) -> str:
    """Return why this is no document that is read, as a sentence, "" = it looks like one.

    No archive is opened for that.
    """
    if data.startswith(b"PK\x03\x04"):
        read = b"word/document.xml" in data or b"xl/workbook." in data
        return "" if read else _instead(lambda name: name.encode() in data)
    try:
        kind_of(data, name)
    except Unreadable as error:
        return str(error)
    return ""


_INSTEAD = (
    ("ppt/presentation.xml", "a presentation; save it as PDF and send that"),
    ("application/vnd.oasis.opendocument.text", "an OpenDocument text; save it as .docx or PDF"),
    ("application/vnd.oasis.opendocument.spreadsheet", "an OpenDocument sheet; save it as .xlsx"),
    ("application/vnd.oasis.opendocument", "an OpenDocument file; save it as PDF"),
    ("application/epub+zip", "an e-book (EPUB); save it as PDF or text"),
    ("Index/Document.iwa", "a file of Pages, Numbers or Keynote; export it as PDF"),
    ("AndroidManifest.xml", "a program for Android"),
    ("META-INF/MANIFEST.MF", "a program for Java"),
)
"""What else is packed like an Office file: a name inside, and what helps."""


def _instead(holds: Callable[[str], bool]) -> str:
    what = next((what for name, what in _INSTEAD if holds(name)), "")
    if not what:
        return "This is an archive, no document; unpack it and send what is inside."
    return f"This is {what}. Its content is not read here."


_LOOKED_AT_BYTES = 4096
_SPACES = "\t\n\r\f"


def utf_16_of(data: bytes) -> str:
    """Return the codec of text in UTF-16, "" = it is none: by its byte order mark, or else by what
    it holds, since many programs write none."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    start = data[:_LOOKED_AT_BYTES]
    if 0 not in start or len(data) % 2:
        return ""
    ascii_signs = dict[str, int]()
    for codec in ("utf-16-le", "utf-16-be"):
        with suppress(ValueError):
            text = codecs.getincrementaldecoder(codec)().decode(start)
            kinds = {unicodedata.category(sign) for sign in text if sign not in _SPACES}
            if kinds.isdisjoint({"Cc", "Cn", "Co"}):
                ascii_signs[codec] = sum(sign.isascii() for sign in text)
    best = max(ascii_signs, key=lambda codec: ascii_signs[codec], default="")
    return best if ascii_signs.get(best) else ""


_GOOD_FOR_BAD = 5
"""So many signs beyond ASCII that are right for each that is not: it is UTF-8 all the same."""
_NO_CHARSETS = frozenset({"punycode", "idna", "undefined", "unicode_escape", "raw_unicode_escape"})
"""Codecs of Python that no text is written in; the first takes hours for a page."""


def text_of(data: bytes, charset: str = "") -> str:
    """Decode bytes as `decoded` does."""
    return decoded(data, charset)[0]


def decoded(data: bytes, charset: str = "") -> tuple[str, str]:
    """Decode bytes: as UTF-16 if they are that, as declared, as UTF-8, else as chardet guesses.

    Returns the text, and a note where it may be wrong, "" = it is certain.
    """
    if codec := utf_16_of(data):
        return data.decode(codec, "replace"), ""
    for name in (charset, "utf-8-sig"):
        try:
            kind = codecs.lookup(name or "utf-8-sig").name
            if kind.replace("-", "_") not in _NO_CHARSETS:
                return data.decode(kind), ""
        except (LookupError, ValueError):
            continue
    text = data.decode("utf-8-sig", "replace")
    bad = text.count("\ufffd")
    if bad * _GOOD_FOR_BAD < sum(not sign.isascii() for sign in text):
        return text, f"{bad} signs are damaged"
    from chardet import EncodingEra, detect

    found = detect(data, encoding_era=EncodingEra.MODERN_WEB)["encoding"] or "windows-1252"
    note = f"its character set is not declared; read as {found}, which is a guess"
    return data.decode(found, "replace"), note


def _packed(data: bytes) -> _Kind:
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise Unreadable("The file is damaged: its archive cannot be opened.") from error
    unpacked = sum(member.file_size for member in members)
    if unpacked > MAX_UNPACKED_BYTES or len(members) > _MAX_MEMBERS:
        raise Unreadable(
            f"Unpacked it would be {unpacked:,} bytes in {len(members):,} files; "
            f"at most {MAX_UNPACKED_BYTES:,} bytes are read."
        )
    names = {member.filename for member in members}
    if "word/document.xml" in names:
        return "docx"
    if names & {"xl/workbook.xml", "xl/workbook.bin"}:
        return "xlsx"
    kinds = data[:100].decode("latin-1")  # the first member of an OpenDocument file says it
    raise Unreadable(_instead(lambda name: name in names or name in kinds))


Unit: TypeAlias = Literal["pages", "rows", "paragraphs", "lines"]
MAX_CHARS = 400_000
"""The longest text of one reading; a range gives more."""
_RANGE = re.compile(r"([0-9]{1,9})?\s*(-|–|\.\.)?\s*([0-9]{1,9})?")


@dataclass(frozen=True, slots=True)
class Range:
    """A range counted from 1, both ends included; `last` 0 = to the end."""

    first: int = 1
    last: int = 0

    def holds(self, number: int) -> bool:
        return self.first <= number and (not self.last or number <= self.last)


def parse_range(text: str) -> Range:
    """Parse `3-7`, `3`, `3-` or `-7`; empty = everything.

    Raises:
        Unreadable: it has another form, or ends before it begins.
    """
    text = text.strip()
    if not text:
        return Range()
    found = _RANGE.fullmatch(text)
    if found is None or not (found[1] or found[3]):
        raise Unreadable(f'{text[:40]!r} is no range: write it like "3-7" or "3".')
    first = int(found[1] or 1)
    last = int(found[3] or 0) if found[2] else first
    if first < 1 or (last and last < first):
        raise Unreadable(f'{text[:40]!r} is no range: it counts from 1 and goes up, like "3-7".')
    return Range(first, last)


@dataclass(frozen=True, slots=True)
class Extract:
    """Text of a document of a `kind`, the number of all its units, a note on what is missing."""

    text: str
    unit: Unit
    total: int
    note: str = ""
    kind: str = ""


def numbered(parts: Iterable[str], wanted: Range, unit: Unit, *, note: str = "") -> Extract:
    """Return the wanted `parts`, one per line, at most `MAX_CHARS`, and the number of all parts.

    Raises:
        Unreadable: the range begins after the end.
    """
    kept: list[str] = []
    size = total = 0
    for total, part in enumerate(parts, 1):
        if wanted.holds(total) and size <= MAX_CHARS:
            kept.append(part)
            size += len(part) + 1
            if size > MAX_CHARS:
                cut = f"cut in {unit[:-1]} {total}; ask for a range from there on"
                note = "; ".join(filter(None, (cut, note)))
    within(wanted, total, unit)
    return Extract("\n".join(kept)[:MAX_CHARS], unit, total, note)


def within(wanted: Range, total: int, unit: Unit) -> None:
    """Check that the range begins before the end. Raises: Unreadable: it does not."""
    if wanted.first > max(total, 1):
        raise Unreadable(f"There are only {total:,} {unit}.")


def row(cells: Iterable[object], *, most: int = 200) -> str:
    """Return a table row as one line of text."""
    texts = [_cell(cell) for cell in islice(cells, most)]
    while texts and not texts[-1]:
        texts.pop()
    return " | ".join(texts)


def _cell(cell: object) -> str:
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return " ".join(str(cell).split()) if cell is not None else ""
