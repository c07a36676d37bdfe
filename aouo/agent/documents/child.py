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
from datetime import datetime
from typing import Any

from aouo.agent.documents import html, kinds
from aouo.agent.documents.kinds import Extract, Unreadable, parse_range

_DELIMITERS = ",;\t|"
_START_CHARS, _START_LINES = 10_000, 50
_MAX_CELL_CHARS = 1_000_000


def _text(data: bytes, wanted: kinds.Range) -> kinds.Extract:
    text, note = kinds.decoded(data)
    return kinds.numbered(text.splitlines(), wanted, "lines", note=note)


def _page(
    data: bytes, wanted: kinds.Range, *, charset: str = "", base_url: str = ""
) -> kinds.Extract:
    """Return a web page as Markdown."""
    charset = charset or _declared(data)
    text, note = kinds.decoded(data, charset)
    return kinds.numbered(html.markdown(text, base_url).splitlines(), wanted, "lines", note=note)


def _table(data: bytes, wanted: kinds.Range) -> kinds.Extract:
    """Return the rows of CSV, with the delimiter that makes its first lines a table."""
    whole, note = kinds.decoded(data)
    delimiter = _delimiter(whole)
    if not delimiter:
        note = "; ".join(filter(None, (note, "no separator was found: each line is one cell")))
    csv.field_size_limit(_MAX_CELL_CHARS)
    rows = csv.reader(io.StringIO(whole, newline=""), delimiter=delimiter or "\x1f")
    try:
        return kinds.numbered((kinds.row(cells) for cells in rows), wanted, "rows", note=note)
    except csv.Error as error:
        raise kinds.Unreadable(f"The table is damaged in line {rows.line_num}: {error}.") from error


def _delimiter(whole: str) -> str:
    """Return what parts the cells, "" = nothing does."""
    import clevercsv

    start = "\n".join(whole[:_START_CHARS].splitlines()[:_START_LINES])
    try:
        found = clevercsv.Sniffer().sniff(start, delimiters=_DELIMITERS)
        return (found.delimiter or "") if found else ""
    except clevercsv.Error:
        return ""


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
    answer: dict[str, Any]
    try:
        data = sys.stdin.buffer.read()
        if job["kind"] == "feed":
            answer = _sent(data, job)
        else:
            kind = job["kind"] or kinds.kind_of(data, job["name"])
            answer = {**asdict(_read(data, kind, job)), "kind": kind}
    except Unreadable as error:
        answer = {"problem": str(error)}
    except MemoryError:
        answer = {"problem": "It needs more memory than a document may."}
    except Exception as error:  # noqa: BLE001 - any failure on a stranger's file is an answer
        answer = {"problem": f"It could not be read ({type(error).__name__}); it may be damaged."}
    # half a surrogate pair, which JSON may hold, is no text
    sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"))
    sys.stdout.flush()


def _sent(data: bytes, job: dict[str, Any]) -> dict[str, Any]:
    """Return what is read of a feed or a calendar, nothing if it is neither."""
    from aouo.agent.documents import entries, feeds
    from aouo.plumbing.zones import zone_of

    now, zone = datetime.fromisoformat(job["now"]), zone_of(job["zone"])
    try:
        return {"sent": asdict(feeds.read(data, now, zone, job["url"]))}
    except entries.NotAFeed:
        return {"sent": None}


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
            from aouo.agent.documents import pdf

            return pdf.pdf(data, wanted)
        case "docx" | "xlsx":
            from aouo.agent.documents import office, sheets

            return (office.docx if kind == "docx" else sheets.xlsx)(data, wanted)
        case "csv":
            return _table(data, wanted)
        case "html":
            return _page(data, wanted, charset=job["charset"], base_url=job["base_url"])
        case _:
            return _text(data, wanted)


if __name__ == "__main__":
    _main()
