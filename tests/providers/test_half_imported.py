"""A model that is asked while the channel is being imported waits for the half of a module."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from types import ModuleType

import pytest

from aouo.providers.openai_line import wait_for_httpx

LIMIT_S = 10.0
HALF = """
import gate_of_httpx

gate_of_httpx.begun.set()
gate_of_httpx.go_on.wait(10)
URL = "whole"
"""


def test_what_another_thread_imports_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK looks at `sys.modules["httpx"]`: a reminder that was due at the start failed so."""
    begun, go_on, seen = Event(), Event(), list[bool]()
    gate = ModuleType("gate_of_httpx")
    gate.__dict__.update(begun=begun, go_on=go_on)
    (tmp_path / "httpx.py").write_text(HALF)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "gate_of_httpx", gate)
    monkeypatch.setitem(sys.modules, "httpx", gate)  # whatever was there comes back afterwards
    del sys.modules["httpx"]

    def look() -> None:
        wait_for_httpx()
        seen.append(hasattr(sys.modules["httpx"], "URL"))

    imports, looks = Thread(target=import_module, args=("httpx",)), Thread(target=look)
    imports.start()
    assert begun.wait(LIMIT_S)
    looks.start()
    looks.join(0.1)  # who does not wait has looked by then
    go_on.set()
    imports.join(LIMIT_S)
    looks.join(LIMIT_S)

    assert seen == [True]
