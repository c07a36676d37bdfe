"""`aouo logs`: shows the last lines of the log, and with `-f` new ones."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO, cast

import click

from aouo.cli.context import current_home, json_option

_HEAD = ("event", "level", "timestamp", "exception")
_LOOK_EVERY_S = 0.2


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Go on as the log grows, until Ctrl-C.")
@click.option("-n", "--lines", "count", default=50, show_default=True, help="How many lines.")
@json_option
def logs(follow: bool, count: int, as_json: bool) -> None:
    """Show the log's last lines; JSON unless this is a terminal."""
    file = current_home().log_file
    raw = as_json or not sys.stdout.isatty()
    if not file.exists() and not follow:
        click.echo(f"There is no log yet at {file}.", err=True)
        return
    shown = _all(file, count) if follow else _last(file, count)
    try:
        for line in shown:
            click.echo(line if raw else readable(line))
    except KeyboardInterrupt:
        return


def readable(line: str) -> str:
    """Return a JSON line as time, level, event and fields; any other line unchanged."""
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if not isinstance(parsed, dict):
        return line
    fields = cast("dict[str, Any]", parsed)
    shown = " ".join(f"{name}={value}" for name, value in fields.items() if name not in _HEAD)
    head = f"{fields.get('timestamp', '')} {fields.get('level', ''):<7} {fields.get('event', '')}"
    below = f"\n{fields['exception']}" if "exception" in fields else ""
    return f"{head} {shown}".rstrip() + below


def _last(file: Path, count: int) -> Iterator[str]:
    """Yield the last lines, also from the previous file of the rotation."""
    kept: deque[str] = deque(maxlen=count)
    for part in (_before(file), file):
        if part.exists():
            with _open(part) as lines:
                kept.extend(line.rstrip("\n") for line in lines)
    yield from kept


def _all(file: Path, count: int) -> Iterator[str]:
    """Yield the last lines and new ones, also after a rotation; never ends."""
    while not file.exists():
        time.sleep(_LOOK_EVERY_S)
    kept: deque[str] = deque(maxlen=count)
    if _before(file).exists():
        with _open(_before(file)) as lines:
            kept.extend(line.rstrip("\n") for line in lines)
    following = False
    while True:
        with _open(file) as lines:
            for line in _lines(file, lines):
                if line is None:
                    yield from kept
                    kept.clear()
                    following = True
                elif following:
                    yield line
                else:
                    kept.append(line)


def _lines(file: Path, lines: TextIO) -> Iterator[str | None]:
    """Yield the lines of the open file until it is rotated; None at its present end."""
    part = ""
    renamed = False
    while not renamed:
        renamed = _is_another(file, lines.fileno())  # checked first, so that the rest is read
        while piece := lines.readline():
            part += piece
            if part.endswith("\n"):
                yield part[:-1]
                part = ""
        yield None
        if not renamed:
            time.sleep(_LOOK_EVERY_S)


def _is_another(file: Path, descriptor: int) -> bool:
    try:
        return file.stat().st_ino != os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False  # just rotated; the first line creates the new one


def _before(file: Path) -> Path:
    return file.with_name(f"{file.name}.1")


def _open(file: Path) -> TextIO:
    return file.open(encoding="utf-8", errors="replace")
