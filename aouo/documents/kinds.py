"""Recognises the kind of a file by its first bytes and, for text, by its name."""

from __future__ import annotations

import codecs
import zipfile
from io import BytesIO
from typing import Literal, TypeAlias

from aouo.documents.problems import Unreadable

Kind: TypeAlias = Literal["pdf", "docx", "xlsx", "csv", "html", "text"]
MAX_UNPACKED_BYTES = 100_000_000
MAX_MEMBERS = 10_000
_BY_MAGIC = (
    (b"\x89PNG", "a picture (PNG)"),
    (b"\xff\xd8\xff", "a picture (JPEG)"),
    (b"GIF8", "a picture (GIF)"),
    (b"OggS", "sound (Ogg)"),
    (b"ID3", "sound (MP3)"),
    (b"fLaC", "sound (FLAC)"),
    (b"RIFF", "a RIFF file (sound, video or WebP)"),
    (b"\x1f\x8b", "packed with gzip"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\xd0\xcf\x11\xe0", "an Office file of the old kind; save it as .docx or .xlsx"),
    (b"{\\rtf", "an RTF file; save it as .docx"),
)


def kind_of(data: bytes, name: str) -> Kind:
    """Return the kind to read `data` as; the name decides only between kinds of text.

    Raises:
        Unreadable: it is no supported document; says what it is.
    """
    if b"%PDF-" in data[:1024]:
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        return _packed(data)
    for magic, what in _BY_MAGIC:
        if data.startswith(magic):
            raise Unreadable(f"This is {what}, no document that can be read.")
    if b"\0" in data[:4096] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Unreadable("This is no text and no kind of document that is known here.")
    suffix = name.lower().rpartition(".")[2]
    if suffix in ("csv", "tsv"):
        return "csv"
    start = data[:1024].lstrip().lower()
    if suffix in ("html", "htm", "xhtml") or start.startswith((b"<!doctype html", b"<html")):
        return "html"
    return "text"


def may_be_read(data: bytes, name: str) -> bool:
    """Whether it looks like a supported document; no archive is opened for that."""
    if data.startswith(b"PK\x03\x04"):
        return b"word/document.xml" in data or b"xl/workbook." in data
    try:
        kind_of(data, name)
    except Unreadable:
        return False
    return True


_NO_CHARSETS = frozenset({"punycode", "idna", "undefined", "unicode_escape", "raw_unicode_escape"})
"""Codecs of Python that no text is written in; the first takes hours for a page."""


def text_of(data: bytes, charset: str = "") -> str:
    """Decode bytes: by their byte order mark, as declared, as UTF-8, else as Windows-1252."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    for name in (charset, "utf-8-sig"):
        try:
            kind = codecs.lookup(name or "utf-8-sig").name
            if kind.replace("-", "_") not in _NO_CHARSETS:
                return data.decode(kind)
        except (LookupError, ValueError):
            continue
    return data.decode("cp1252", "replace")


def _packed(data: bytes) -> Kind:
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise Unreadable("The file is damaged: its archive cannot be opened.") from error
    unpacked = sum(member.file_size for member in members)
    if unpacked > MAX_UNPACKED_BYTES or len(members) > MAX_MEMBERS:
        raise Unreadable(
            f"Unpacked it would be {unpacked:,} bytes in {len(members):,} files; "
            f"at most {MAX_UNPACKED_BYTES:,} bytes are read."
        )
    names = {member.filename for member in members}
    if "word/document.xml" in names:
        return "docx"
    if names & {"xl/workbook.xml", "xl/workbook.bin"}:
        return "xlsx"
    raise Unreadable("This is an archive, no document; unpack it and send what is inside.")
