"""SQL's own time, told by a clock: `date('now')` of a pack's schema is what a test says it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from aouo.packs.data import reading, storage

_FUNCTIONS = ("date", "time", "datetime", "julianday", "strftime")


def tell(monkeypatch: pytest.MonkeyPatch, now: Callable[[], datetime]) -> None:
    """From here on, databases of packs that are opened ask `now` what time it is."""
    for module, name in ((storage, "open_database"), (reading, "open_to_read")):
        opened = getattr(module, name)
        monkeypatch.setattr(module, name, _with_time(opened, now))


def _with_time(
    opened: Callable[..., sqlite3.Connection], now: Callable[[], datetime]
) -> Callable[..., sqlite3.Connection]:
    def open_told(*args: Any, **more: Any) -> sqlite3.Connection:
        connection = opened(*args, **more)
        for name in _FUNCTIONS:
            connection.create_function(name, -1, _told(name, now))
        return connection

    return open_told


def _told(name: str, now: Callable[[], datetime]) -> Callable[..., Any]:
    real = sqlite3.connect(":memory:", check_same_thread=False)

    def told(*args: Any) -> Any:
        moment = now().strftime("%Y-%m-%d %H:%M:%S")
        values = [moment if value == "now" else value for value in args]
        marks = ", ".join("?" for _ in values)
        return real.execute(f"SELECT {name}({marks})", values).fetchone()[0]

    return told
