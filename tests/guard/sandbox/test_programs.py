"""Which files a program needs to be started: its own, its loader's and its interpreters'."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from aouo.guard.sandbox.bubblewrap import _startable, found
from aouo.guard.sandbox.levels import Bubblewrap
from tests.guard.sandbox.places import LIMITS, Place, until_gone

SH = Path("/bin/sh").resolve()


def script(folder: Path, name: str, first_line: bytes) -> Path:
    path = folder / name
    path.write_bytes(first_line + b"\nexit 0\n")
    return path


@pytest.mark.parametrize(
    ("first_line", "opened"),
    [
        (b"#!/bin/sh", [SH]),
        (b"#! /bin/sh -e", [SH]),
        (b"#!/usr/bin/env sh", [Path("/usr/bin/env").resolve(), SH]),
        (b"#!/usr/bin/env -S sh -e", [Path("/usr/bin/env").resolve(), SH]),
        (b"#!/usr/bin/env no-such-program-here", [Path("/usr/bin/env").resolve()]),
        (b"#!/usr/bin/env", [Path("/usr/bin/env").resolve()]),
        (b"#!", []),
        (b"just words", []),
    ],
)
def test_a_script_needs_what_its_first_line_names(
    tmp_path: Path, first_line: bytes, opened: list[Path]
) -> None:
    path = script(tmp_path, "tool", first_line)
    files = _startable([path])

    assert files[0] == path
    assert [file for file in files[1:] if file in opened] == opened
    assert bool(files[1:]) == bool(opened)


def test_a_compiled_program_needs_the_loader_that_it_names() -> None:
    loaders = [file for file in _startable([SH]) if file.name.startswith(("ld-", "ld6"))]

    assert len(loaders) == 1
    assert loaders[0].is_file()


def test_a_file_that_says_nothing_of_a_loader_needs_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "tool"
    path.write_bytes(b"\x7fELF\x02\x01" + b"\xff" * 200)

    assert _startable([path, path]) == (path,)


def test_a_program_is_found_where_programs_are_and_python_is_our_own() -> None:
    assert found("sh") == SH
    assert found("python") == found("python3") == Path(sys.executable).resolve()
    assert found("no-such-program-here") is None


# A run that is ended while it begins leaves nothing behind, and nobody waits for it


LATE = """#!{python}
import json, os, signal, sys
if not (inner := os.fork()):
    {apart}
    signal.pause()  # bubblewrap is gone before the kernel was asked
told = int(sys.argv[sys.argv.index("--info-fd") + 1])
if {told}:
    os.write(told, json.dumps({{"child-pid": inner}}, indent=4).encode())
signal.pause()
"""
"""As bubblewrap is for a moment of its start: what it starts would outlive it."""
MOMENTS = {
    "before it says so": {"apart": "pass", "told": False},
    "when it has a session of its own": {"apart": "os.setsid()", "told": True},
}


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("by", ["a limit", "a cancel"])
async def test_what_bubblewrap_had_just_started_is_ended_with_it(
    tmp_path: Path, moment: str, by: str
) -> None:
    """Found by a test that failed on a busy machine: it held the pipes until the time was over."""
    bwrap = tmp_path / "bwrap"
    bwrap.write_text(LATE.format(python=sys.executable, **MOMENTS[moment]))
    bwrap.chmod(0o700)
    place = Place(tmp_path / "place", Bubblewrap(str(bwrap), 0, ()))
    order = replace(place.order("return 1"), limits=replace(LIMITS, time_s=60))
    looks = 0

    def is_full() -> bool:
        nonlocal looks
        looks += 1
        if by == "a cancel" and looks == 9:
            loop.call_soon_threadsafe(running.cancel)
        return by == "a limit" and looks == 9

    loop = asyncio.get_running_loop()
    async with asyncio.timeout(30):
        running = asyncio.ensure_future(place.sandbox.run(order, is_full=is_full))
        await asyncio.wait([running])
        await until_gone(str(bwrap))

    assert running.cancelled() if by == "a cancel" else running.result().end == "room"
