"""Extracts text, forms and comments from PDF files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from aouo.agent.documents.kinds import MAX_CHARS, Extract, Range, Unreadable, within

_DAMAGE = (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
_REMARKS = ("/Text", "/FreeText", "/Highlight", "/Underline", "/StrikeOut")


def pdf(data: bytes, wanted: Range) -> Extract:
    """Return the text layer of each page; scanned pages have none."""
    try:
        reader = PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("The PDF is locked with a password; ask for one without.")
        total = len(reader.pages)
    except _DAMAGE as error:
        raise Unreadable(f"The PDF is damaged ({type(error).__name__}).") from error
    within(wanted, total, "pages")
    bare: list[int] = []
    texts: list[str] = []
    for number in range(wanted.first, min(wanted.last or total, total) + 1):
        try:
            found = reader.pages[number - 1].extract_text().strip()
        except _DAMAGE:
            found = ""
        bare += [] if found else [number]
        texts.append(f"[page {number}]\n{found}\n")
        if sum(map(len, texts)) > MAX_CHARS:
            note = f"cut in page {number}; ask for a range from there on"
            return Extract("\n".join(texts)[:MAX_CHARS], "pages", total, note)
    told = [*_fields(reader), *_comments(reader, wanted, total)]
    if len(bare) == len(texts) and not told:
        raise Unreadable(f"These {total:,} pages hold no text, only pictures (a scan?).")
    note = f"without text, perhaps pictures: pages {_few(bare)}" if bare else ""
    return Extract("\n".join((*texts, *told)), "pages", total, note)


def _fields(reader: PdfReader) -> Iterator[str]:
    """The filled fields of a form: their values stand beside the text of the pages."""
    with suppress(*_DAMAGE):
        for name, field in (reader.get_fields() or {}).items():
            value = field.get("/V")
            if isinstance(value, str) and value.strip("/ ") not in ("", "Off"):
                yield f"[field {name}: {value.removeprefix('/')}]"


def _comments(reader: PdfReader, wanted: Range, total: int) -> Iterator[str]:
    for number in range(wanted.first, min(wanted.last or total, total) + 1):
        with suppress(*_DAMAGE):
            for link in reader.pages[number - 1].get("/Annots", ()):
                note = link.get_object()
                if note.get("/Subtype") in _REMARKS and str(note.get("/Contents", "")).strip():
                    who = f" by {note['/T']}" if note.get("/T") else ""
                    yield f"[comment{who} on page {number}: {str(note['/Contents']).strip()}]"


def _few(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:10])) + (" …" if len(numbers) > 10 else "")
