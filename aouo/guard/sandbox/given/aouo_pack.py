"""What a tool of a pack may ask of aouo while it runs; the standard library is all it needs.

    from aouo_pack import chart, db, fetch, log, now, picture, secret, send, settings

A tool that says *Reads only.* in its docstring may look and not change: `db` takes SELECT only,
and nothing is sent. What cannot be done raises `Refused`, with a sentence.

A test of a pack uses `fake`, which stands for aouo and keeps what was asked of it.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

_lock = threading.Lock()
_faked: Fake | None = None


class Refused(Exception):
    """aouo did not do it; the text says why."""


class Page(NamedTuple):
    """What a server answered: its HTTP status, and its text."""

    status: int
    text: str


def db(sql: str, params: Sequence[Any] | Mapping[str, Any] = ()) -> list[dict[str, Any]]:
    """Run one statement over the pack's own database, and return its rows.

    SELECT, INSERT, UPDATE and DELETE; `?` and `:name` stand for `params`. What a call wrote can
    be put back by *Undo*, all of it together.
    """
    given = dict(params) if isinstance(params, Mapping) else list(params)
    return _ask("db", sql=sql, params=given)


def send(text: str) -> None:
    """Say something in the conversation now; ten times a call at most."""
    _ask("send", text=text)


def picture(path: str | Path, text: str = "") -> dict[str, str]:
    """Return this from a tool to show a picture or file of the pack's folder, with a caption."""
    return {"file": str(path), "text": text}


def chart(
    kind: str,
    rows: Sequence[Sequence[Any] | Mapping[str, Any]],
    *,
    title: str = "",
    unit: str = "",
    columns: Sequence[str] = (),
    dark: bool = False,
    text: str = "",
) -> dict[str, str]:
    """Draw a chart; return it from a tool to show it, with `text` as its caption.

    `kind` is bars, lines, parts, calendar or table. Each row is a label, then a number or
    several, whose names are `columns`; of a calendar a day (2026-03-01) and a number.
    """
    given = [list(row.values()) if isinstance(row, Mapping) else list(row) for row in rows]
    spec = {"kind": kind, "rows": given, "title": title, "unit": unit, "columns": list(columns)}
    return {"file": _ask("chart", chart={**spec, "dark": dark}), "text": text}


def fetch(url: str, *, secret: str = "", headers: Mapping[str, str] | None = None) -> Page:
    """Read an address that `permissions.network` opens.

    `{secret}` in `url` and `headers` becomes the value of the pack's secret of that name on its
    way, towards the hosts of that secret only; without it the secret is sent as a Bearer token.
    """
    return Page(*_ask("fetch", url=url, secret=secret, headers=dict(headers or {})))


def secret(name: str) -> str:
    """Return a secret of the pack which names no hosts, "" = it is not set."""
    return _ask("secret", name=name)


def log(*words: object) -> None:
    """Write a line to aouo's log, and to the console of `aouo dev`."""
    print(*words, file=sys.stderr)  # noqa: T201 - it is what stderr is for


def now() -> datetime:
    """Return the time where the person is."""
    return datetime.fromisoformat(_ask("now"))


class _Settings(Mapping[str, Any]):
    """The pack's settings, as `pack.yml` names them."""

    def __getitem__(self, name: str) -> Any:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, Any]:
        return _ask("settings")


settings: Mapping[str, Any] = _Settings()


class Fake:
    """Stands for aouo in a test; `sent` and `charts` are what a tool asked for."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given
        self.sent: list[str] = []
        self.charts: list[dict[str, Any]] = []
        self.database = sqlite3.connect(":memory:")
        self.database.row_factory = sqlite3.Row
        schema = Path(os.environ.get("AOUO_PACK", ".")) / "schema.sql"
        self.database.executescript(schema.read_text("utf-8") if schema.is_file() else "")

    def ask(self, what: str, given: Mapping[str, Any]) -> Any:
        match what:
            case "db":
                try:
                    return [
                        dict(row) for row in self.database.execute(given["sql"], given["params"])
                    ]
                except sqlite3.Error as error:
                    raise Refused(str(error)) from error
            case "send":
                self.sent.append(given["text"])
            case "chart":
                self.charts.append(given["chart"])
                return "chart.png"
            case "now":
                return str(self._given.get("now") or datetime.now(UTC).isoformat())  # noqa: TID251
            case "settings":
                return dict(self._given.get("settings") or {})
            case "secret":
                return dict(self._given.get("secrets") or {}).get(given["name"], "")
            case _:
                pages = dict(self._given.get("pages") or {})
                if given["url"] not in pages:
                    raise Refused(f"The fake knows no page {given['url']}.")
                return [200, pages[given["url"]]]
        return None

    def _rows(self, sql: str, params: Any) -> list[dict[str, Any]]:
        try:
            return [dict(row) for row in self.database.execute(sql, params)]
        except sqlite3.Error as error:
            raise Refused(str(error)) from error


@contextmanager
def fake(**given: Any) -> Generator[Fake]:
    """Stand for aouo: `settings`, `secrets`, `now` (ISO 8601), `pages` by address."""
    global _faked
    _faked = Fake(given)
    try:
        yield _faked
    finally:
        _faked.database.close()
        _faked = None


def _ask(what: str, **given: Any) -> Any:
    if _faked:
        return _faked.ask(what, given)
    descriptor = int(os.environ.get("AOUO_ASK", "-1"))
    if descriptor < 0:
        raise Refused("There is no aouo to ask: use aouo_pack.fake in tests.")
    wish = json.dumps({"ask": what, "given": given}, default=str).encode()
    with _lock:
        _write(descriptor, len(wish).to_bytes(4, "big") + wish)
        answer = json.loads(_read(descriptor, int.from_bytes(_read(descriptor, 4), "big")))
    if "error" in answer:
        raise Refused(answer["error"])
    return answer["value"]


def _write(descriptor: int, data: bytes) -> None:
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError:
        raise Refused("aouo takes no more questions of this call.") from None


def _read(descriptor: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = os.read(descriptor, size - len(data))
        if not piece:
            raise Refused("aouo takes no more questions of this call.")
        data += piece
    return data
