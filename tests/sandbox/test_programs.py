"""Which files a program needs to be started: its own, its loader's and its interpreters'."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from aouo.sandbox.programs import found, startable

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
    files = startable([path])

    assert files[0] == path
    assert [file for file in files[1:] if file in opened] == opened
    assert bool(files[1:]) == bool(opened)


def test_a_compiled_program_needs_the_loader_that_it_names() -> None:
    loaders = [file for file in startable([SH]) if file.name.startswith(("ld-", "ld6"))]

    assert len(loaders) == 1
    assert loaders[0].is_file()


def test_a_file_that_says_nothing_of_a_loader_needs_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "tool"
    path.write_bytes(b"\x7fELF\x02\x01" + b"\xff" * 200)

    assert startable([path, path]) == (path,)


def test_a_program_is_found_where_programs_are_and_python_is_our_own() -> None:
    assert found("sh") == SH
    assert found("python") == found("python3") == Path(sys.executable).resolve()
    assert found("no-such-program-here") is None
