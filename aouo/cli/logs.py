"""`aouo logs`: the last lines of the log, and with `-f` those to come."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

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
    lines, position = _last(file, count)
    for line in lines:
        click.echo(line if raw else readable(line))
    if follow:
        try:
            for line in _grow(file, position):
                click.echo(line if raw else readable(line))
        except KeyboardInterrupt:
            return


def readable(line: str) -> str:
    """A JSON line as time, level, event and fields; anything else as it is."""
    try:
        parsed = json.loads(line)
    except json.JSONDecodeError:
        return line
    if not isinstance(parsed, dict):
        return line
    fields = cast("dict[str, Any]", parsed)
    shown = " ".join(f"{name}={value}" for name, value in fields.items() if name not in _HEAD)
    head = f"{fields.get('timestamp', '')} {fields.get('level', ''):<7} {fields.get('event', '')}"
    below = f"\n{fields['exception']}" if "exception" in fields else ""
    return f"{head} {shown}".rstrip() + below


def _last(file: Path, count: int) -> tuple[list[str], int]:
    """The last lines, from the renamed file before if need be, and how far we have read."""
    older = file.with_name(f"{file.name}.1")
    kept: deque[str] = deque(maxlen=count)
    position = 0
    for part in (older, file):
        if part.exists():
            with part.open(encoding="utf-8", errors="replace") as lines:
                kept.extend(line.rstrip("\n") for line in lines)
                position = lines.tell() if part == file else 0
    return list(kept), position


def _grow(file: Path, position: int) -> Iterator[str]:
    """Lines written from now on, across the file's renaming; never ends."""
    while not file.exists():
        time.sleep(_LOOK_EVERY_S)
    while True:
        with file.open(encoding="utf-8", errors="replace") as lines:
            lines.seek(position)
            part = ""
            renamed = False
            while not renamed:
                renamed = _is_another(file, lines.fileno())  # asked first: then all of it is read
                while line := lines.readline():
                    part += line
                    if part.endswith("\n"):
                        yield part[:-1]
                        part = ""
                if not renamed:
                    time.sleep(_LOOK_EVERY_S)
        position = 0


def _is_another(file: Path, descriptor: int) -> bool:
    """Whether the name stands for another file than the open one."""
    try:
        return file.stat().st_ino != os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False  # just renamed; the new one comes with its first line
