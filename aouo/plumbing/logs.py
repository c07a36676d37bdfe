"""Writes the log: JSON lines to a rotated file and to stderr, readable lines to a terminal."""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TextIO, TypeAlias, cast

import structlog
from structlog.typing import EventDict, FilteringBoundLogger

from aouo.plumbing.printable import printable

if TYPE_CHECKING:
    from aouo.plumbing.redact import Redactor

log: FilteringBoundLogger = structlog.get_logger()
"""What every module writes its events to; it goes where `Logs`, or a verb, has configured it to."""

Level: TypeAlias = Literal["debug", "info", "warning", "error"]
_Format: TypeAlias = Literal["auto", "json", "text"]

_LEVELS: Mapping[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}
_URGENT = frozenset({"warning", "error", "critical"})
_QUOTES_NOBODY = frozenset(
    {
        *("event", "level", "timestamp", "logger", "kind", "status", "end", "scope", "origin"),
        *("job", "conversation", "session", "turn_id", "call", "delivery"),
        *("pack", "provider", "model", "server", "setting"),
    }
)
"""Fields that hold only our own names; an event that is `off_record` keeps no other text."""
_FIRST_FIELDS = ("event", "level", "timestamp")
_FILES = 5
_FILE_BYTES = 5_000_000
_FLUSH_EVERY_S = 0.5
_BUFFER_CHARS = 64_000


Adopt: TypeAlias = Callable[[Level, "Redactor | None"], None]
"""Uses another level and another redactor from now on (`Logs.adopt` does)."""


def not_logging(level: Level, redactor: Redactor | None) -> None:
    """Adopt nothing, where no log is open."""
    del level, redactor


class LogFile:
    """A rotated log file; `files` of them are kept, the current one included.

    Lines are buffered and written together: after 0.5 s, when 64 k characters wait, at once when
    a line is urgent, and on `close`. Thread-safe.
    """

    def __init__(self, path: Path, *, max_bytes: int = _FILE_BYTES, files: int = _FILES) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._files = files
        self._lines: list[str] = []
        self._waiting_chars = 0
        self._guard = threading.Lock()
        self._something_waits = threading.Event()
        self._closing = threading.Event()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = self._open()
        self._flusher = threading.Thread(target=self._flush_later, name="log", daemon=True)
        self._flusher.start()

    def write(self, line: str, *, urgent: bool = False) -> None:
        """Append one line, given without its newline; after `close` it is dropped."""
        with self._guard:
            if self._closing.is_set():
                return
            self._lines.append(line)
            self._waiting_chars += len(line)
            if urgent or self._waiting_chars > _BUFFER_CHARS:
                self._write_out()
            elif len(self._lines) == 1:
                self._something_waits.set()

    def flush(self) -> None:
        """Write the buffered lines."""
        with self._guard:
            self._write_out()

    def close(self) -> None:
        """Write the buffered lines and close the file; a second call does nothing."""
        with self._guard:
            if self._closing.is_set():
                return
            self._write_out()
            self._closing.set()
        self._something_waits.set()
        self._flusher.join()
        self._file.close()

    def _flush_later(self) -> None:
        while not self._closing.is_set():
            self._something_waits.wait()
            self._something_waits.clear()
            self._closing.wait(_FLUSH_EVERY_S)
            self.flush()

    def _write_out(self) -> None:
        """Write the buffered lines; the caller holds the guard. On a full disk they are lost."""
        if not self._lines:
            return
        block = ("\n".join(self._lines) + "\n").encode("utf-8", "backslashreplace")
        self._lines.clear()
        self._waiting_chars = 0
        try:
            if self._file.closed:  # a rotation failed
                self._file = self._open()
            size = self._file.seek(0, 2)
            if size and size + len(block) > self._max_bytes:
                self._rotate()
            self._file.write(block)
        except OSError as error:
            with contextlib.suppress(OSError):  # it may lie on the same disk
                sys.stderr.write(f"the log cannot be written: {error}\n")

    def _rotate(self) -> None:
        self._file.close()
        names = files_of(self._path, self._files)
        for older, newer in zip(reversed(names), reversed(names[:-1]), strict=False):
            if newer.exists():
                newer.replace(older)
        self._file = self._open()

    def _open(self) -> IO[bytes]:
        self._path.touch(mode=0o600)
        return self._path.open("ab", buffering=0)


class Logs:
    """The open log of the process, which structlog and the standard library write to.

    `file` None = no log file; `quiet`: nothing goes to stderr, where a program uses the
    screen; `now` returns Unix time in seconds.
    """

    def __init__(
        self,
        *,
        level: Level = "info",
        form: _Format = "auto",
        file: Path | None = None,
        redactor: Redactor | None = None,
        stderr: TextIO | None = None,
        quiet: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._file = None if file is None else LogFile(file)
        self._stderr, self._quiet = stderr, quiet
        self._redactor = redactor
        self._now = now
        self._encode = json.JSONEncoder(
            ensure_ascii=False, skipkeys=True, check_circular=False, default=self._spell
        ).encode
        terminal = (stderr or sys.stderr).isatty()
        self._readable = form == "text" or (form == "auto" and terminal)
        self._foreign = _Foreign(level=logging.WARNING)
        self._root_level = logging.getLogger().level
        self.adopt(level, redactor)
        logging.getLogger().addHandler(self._foreign)
        logging.captureWarnings(True)

    def adopt(self, level: Level, redactor: Redactor | None) -> None:
        """Use another level and another redactor from now on, after a reload."""
        self._redactor = redactor
        logging.getLogger().setLevel(max(logging.WARNING, _LEVELS[level]))
        structlog.configure(
            processors=[
                structlog.contextvars.merge_contextvars,
                structlog.processors.format_exc_info,
                self._render,
            ],
            wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
            logger_factory=lambda *_: self,
            cache_logger_on_first_use=False,
        )

    def flush(self) -> None:
        """Write the buffered lines."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Write the buffered lines and close; later only warnings are written, to stderr."""
        logging.captureWarnings(False)
        logging.getLogger().removeHandler(self._foreign)
        logging.getLogger().setLevel(self._root_level)
        _be_quiet()
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Logs:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, line: str, readable: str, *, urgent: bool) -> None:
        """Write one event; structlog calls this with the result of `_render`."""
        if self._file is not None:
            self._file.write(line, urgent=urgent)
        if self._quiet:
            return
        out = self._stderr or sys.stderr
        try:
            out.write((readable if self._readable else line) + "\n")
            out.flush()
        except (OSError, ValueError):
            return  # a closed terminal must not stop the bot

    debug = info = warning = error = critical = write

    def _render(
        self, _: object, level: str, event: EventDict
    ) -> tuple[tuple[str, str], dict[str, bool]]:
        moment = datetime.fromtimestamp(self._now(), UTC)
        fields: dict[str, object] = {
            "event": event.pop("event", ""),
            "level": level,
            "timestamp": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        fields.update(event)
        if fields.get("off_record"):
            fields = {name: _said_of(name, value) for name, value in fields.items()}
        line = self._encode(fields)
        if self._redactor is not None and self._redactor.suspects(line):
            fields = cast("dict[str, object]", self._redactor.value(fields))
            line = self._encode(fields)
        readable = _readable(fields, moment, self._spell) if self._readable else ""
        return (printable(line), printable(readable)), {"urgent": level in _URGENT}

    def _spell(self, value: object) -> str:
        """Return a value that JSON does not support as redacted text."""
        text = str(value) if isinstance(value, Path) else repr(value)
        return text if self._redactor is None else self._redactor.text(text)


def _said_of(name: str, value: object) -> object:
    """Return what the log may hold of a field of an event off the record."""
    plain = value is None or isinstance(value, int | float) or name in _QUOTES_NOBODY
    return value if plain else "off the record"


class _Foreign(logging.Handler):
    """Brings what libraries log through the standard library into our log."""

    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, Any] = {"logger": record.name, "message": record.getMessage()}
        if record.exc_info and record.exc_info[0]:
            fields["exc_info"] = record.exc_info
        get_logger().log(record.levelno // 10 * 10, "library_message", **fields)


def get_logger() -> FilteringBoundLogger:
    """Return a logger for facts: `get_logger().info("turn_done", turn_id=…)`.

    Before `Logs` is open, only warnings are written, to stderr.
    """
    if not structlog.is_configured():
        _be_quiet()
    return cast("FilteringBoundLogger", structlog.get_logger())


def _be_quiet() -> None:
    structlog.reset_defaults()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )


def _readable(
    fields: Mapping[str, object], moment: datetime, spell: Callable[[object], str]
) -> str:
    """Return one short line: local time, level, event and its fields; an exception below it."""
    shown = " ".join(
        f"{name}={value if isinstance(value, str | int | float) else spell(value)}"
        for name, value in fields.items()
        if name not in _FIRST_FIELDS and name != "exception"
    )
    head = f"{moment.astimezone():%H:%M:%S} {fields['level']:<7} {fields['event']}"
    below = f"\n{fields['exception']}" if "exception" in fields else ""
    return f"{head} {shown}".rstrip() + below


def files_of(path: Path, files: int = _FILES) -> list[Path]:
    """Return the paths of a log file and of those before it, newest first."""
    return [path, *(path.with_name(f"{path.name}.{number}") for number in range(1, files))]
