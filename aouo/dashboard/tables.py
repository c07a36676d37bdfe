"""Makes what the page shows of long texts, and writes cells of tables, also CSV and JSON."""

from __future__ import annotations

import base64
import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from aouo.packs.data.browsing import Page
from aouo.packs.data.rows import Cell, Column
from aouo.plumbing.control import Facts
from aouo.plumbing.printable import inert
from aouo.plumbing.redact import Redactor

SHOWN_CHARS = 4_000
MARGIN_CHARS = 10_000
"""What is read beyond the end, for a secret that stands at the cut."""


def beginning(redactor: Redactor, text: str, chars: int) -> str:
    """Return the first characters of a text without secrets."""
    return redactor.text(text[: chars + MARGIN_CHARS])[:chars]


def excerpt(redactor: Redactor, text: str, size_bytes: int | None = None) -> Facts:
    """Return the beginning of a text without secrets, the bytes of the whole, and whether it is
    `cut`; with `size_bytes` the text is the beginning of a longer one."""
    given = len(text.encode("utf-8", "surrogatepass"))
    whole = given if size_bytes is None else size_bytes
    clean = redactor.text(text[: SHOWN_CHARS + MARGIN_CHARS])
    return {
        "text": clean[:SHOWN_CHARS],
        "bytes": whole,
        "cut": len(clean) > SHOWN_CHARS or whole > given,
    }


Format: TypeAlias = Literal["csv", "json"]
FORMATS: dict[Format, str] = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json; charset=utf-8",
}
_SHOWN_CHARS = 400
_WHOLE_CHARS = 1_000_000


def shown_cell(value: Cell, size: int | None, clean: Callable[[str], str]) -> Facts:
    """Return a cell for a page: its kind, its text, and its size if the text is not all of it.

    `size` is that of a cell of which only the beginning was read: characters, of a blob bytes.
    """
    return _cell(value, size, clean, _SHOWN_CHARS)


def whole_cell(value: Cell, clean: Callable[[str], str]) -> Facts:
    """Return a cell as `shown_cell` does, but up to `_WHOLE_CHARS`."""
    return _cell(value, None, clean, _WHOLE_CHARS)


def _cell(value: Cell, size: int | None, clean: Callable[[str], str], most: int) -> Facts:
    match value:
        case None:
            return {"kind": "null", "text": ""}
        case bytes():
            text = _without_secrets(value, clean)[: most // 2].hex()
            whole = len(value) if size is None else size
            return {"kind": "blob", "text": text, "size": whole}
        case str():
            text = clean(value)
            whole = len(value) if size is None else size
            cut = size is not None or len(text) > most
            return {"kind": "text", "text": text[:most], **({"size": whole} if cut else {})}
        case _:
            return {"kind": "number", "text": repr(value)}


def head(kind: Format, table: str, columns: Sequence[Column]) -> bytes:
    """Return what stands before the rows."""
    names = [one.name for one in columns]
    if kind == "csv":
        return csv_lines([[inert(name) for name in names]])
    told = json.dumps({"table": table, "columns": names}, ensure_ascii=False)
    return f'{told[:-1]}, "rows": [\n'.encode()


def lines(kind: Format, page: Page, clean: Callable[[str], str], begun: bool) -> bytes:
    """Return the rows of a page; `begun`: others stand before them."""
    if kind == "csv":
        return csv_lines([_csv_cell(one, clean) for one in row.cells] for row in page.rows)
    rows = [
        json.dumps([_json_cell(one, clean) for one in row.cells], ensure_ascii=False)
        for row in page.rows
    ]
    return (",\n".join(["", *rows] if begun and rows else rows)).encode()


def tail(kind: Format, *, cut: bool) -> bytes:
    """Return what stands after the rows; `cut`: the rows that follow cannot be told apart."""
    return b"" if kind == "csv" else f'\n], "complete": {json.dumps(not cut)}}}\n'.encode()


def csv_lines(rows: Iterable[Iterable[object]]) -> bytes:
    """Return rows of cells as CSV."""
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue().encode("utf-8", "replace")


def _csv_cell(value: Cell, clean: Callable[[str], str]) -> str:
    match value:
        case None:
            return ""
        case bytes():
            return _base64(value, clean)
        case str():
            return inert(clean(value))
        case _:
            return repr(value)


def _base64(value: bytes, clean: Callable[[str], str]) -> str:
    return base64.b64encode(_without_secrets(value, clean)).decode()


def _without_secrets(value: bytes, clean: Callable[[str], str]) -> bytes:
    return clean(value.decode("latin-1")).encode("latin-1", "replace")


def _json_cell(value: Cell, clean: Callable[[str], str]) -> object:
    match value:
        case bytes():
            return {"base64": _base64(value, clean)}
        case str():
            return clean(value)
        case float() if not math.isfinite(value):
            return repr(value)
        case _:
            return value
