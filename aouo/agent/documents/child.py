"""Reads one document in a child process: a job as JSON on its command line, bytes on stdin.

Only this process reads strangers' files: the system limits its memory, processor time and writing,
and the parent ends it when it takes too long. It prints one JSON line.
"""

from __future__ import annotations

import csv
import io
import json
import resource
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from aouo.agent.documents import html, kinds
from aouo.agent.documents.kinds import Extract, Unreadable, parse_range

_DELIMITERS = ",;\t|"
_MAX_CELL_CHARS = 1_000_000


def _text(data: bytes, wanted: kinds.Range) -> kinds.Extract:
    return kinds.numbered(kinds.text_of(data).splitlines(), wanted, "lines")


def _page(
    data: bytes, wanted: kinds.Range, *, charset: str = "", base_url: str = ""
) -> kinds.Extract:
    """Return a web page as Markdown."""
    charset = charset or _declared(data)
    lines = html.markdown(kinds.text_of(data, charset), base_url).splitlines()
    return kinds.numbered(lines, wanted, "lines")


def _table(data: bytes, wanted: kinds.Range) -> kinds.Extract:
    """Return the rows of CSV, with the delimiter that its first lines use most."""
    whole = kinds.text_of(data)
    start = "\n".join(whole[:20_000].splitlines()[:20])
    delimiter = max(_DELIMITERS, key=start.count)
    csv.field_size_limit(_MAX_CELL_CHARS)
    rows = csv.reader(io.StringIO(whole, newline=""), delimiter=delimiter)
    try:
        return kinds.numbered((kinds.row(cells) for cells in rows), wanted, "rows")
    except csv.Error as error:
        raise kinds.Unreadable(f"The table is damaged in line {rows.line_num}: {error}.") from error


def _pdf(data: bytes, wanted: kinds.Range) -> kinds.Extract:
    """Return the text layer of each page; scanned pages have none."""
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise kinds.Unreadable("The PDF is locked with a password; ask for one without.")
        total = len(reader.pages)
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise kinds.Unreadable(f"The PDF is damaged ({type(error).__name__}).") from error
    kinds.within(wanted, total, "pages")
    bare: list[int] = []
    texts: list[str] = []
    for number in range(wanted.first, min(wanted.last or total, total) + 1):
        try:
            found = reader.pages[number - 1].extract_text().strip()
        except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            found = ""
        bare += [] if found else [number]
        texts.append(f"[page {number}]\n{found}\n")
        if sum(map(len, texts)) > kinds.MAX_CHARS:
            note = f"cut in page {number}; ask for a range from there on"
            return kinds.Extract("\n".join(texts)[: kinds.MAX_CHARS], "pages", total, note)
    if len(bare) == len(texts):
        raise kinds.Unreadable(f"These {total:,} pages hold no text, only pictures (a scan?).")
    note = f"without text, perhaps pictures: pages {_few(bare)}" if bare else ""
    return kinds.Extract("\n".join(texts), "pages", total, note)


def _few(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:10])) + (" …" if len(numbers) > 10 else "")


def _declared(data: bytes) -> str:
    """Return the character set that a page declares in its head, "" = none."""
    head = data[:2048].lower()
    place = head.find(b"charset=")
    if place < 0:
        return ""
    return "".join(_name(head[place + 8 : place + 48].lstrip(b"\"'")))


def _name(data: bytes) -> Iterator[str]:
    for character in data.decode("ascii", "replace"):
        if not (character.isalnum() or character in "-_"):
            return
        yield character


_MEMORY_BYTES = 1_500_000_000
_CPU_S = 30


def _main() -> None:
    job: dict[str, Any] = json.loads(sys.argv[1])
    _limit("RLIMIT_AS", _MEMORY_BYTES)
    _limit("RLIMIT_CPU", _CPU_S)
    _limit("RLIMIT_FSIZE", 0)
    _limit("RLIMIT_CORE", 0)
    try:
        data = sys.stdin.buffer.read()
        kind = job["kind"] or kinds.kind_of(data, job["name"])
        said: dict[str, Any] = {**asdict(_read(data, kind, job)), "kind": kind}
    except Unreadable as error:
        said = {"problem": str(error)}
    except MemoryError:
        said = {"problem": "It needs more memory than a document may."}
    except Exception as error:  # noqa: BLE001 - any failure on a stranger's file is an answer
        said = {"problem": f"It could not be read ({type(error).__name__}); it may be damaged."}
    sys.stdout.write(json.dumps(said))
    sys.stdout.flush()


def _limit(name: str, value: int) -> None:
    """Set one resource limit of this process; macOS may refuse one, Linux must not."""
    try:
        resource.setrlimit(int(getattr(resource, name)), (value, value))
    except (ValueError, OSError):
        if sys.platform == "linux":  # where all of them hold
            raise


def _read(data: bytes, kind: str, job: dict[str, Any]) -> Extract:
    wanted = parse_range(job["range"])
    match kind:
        case "pdf":
            return _pdf(data, wanted)
        case "docx" | "xlsx":
            from aouo.agent.documents import office

            return (office.docx if kind == "docx" else office.xlsx)(data, wanted)
        case "csv":
            return _table(data, wanted)
        case "html":
            return _page(data, wanted, charset=job["charset"], base_url=job["base_url"])
        case _:
            return _text(data, wanted)


if __name__ == "__main__":
    _main()
