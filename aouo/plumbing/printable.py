"""Escapes what of a text controls a terminal, or is computed by a spreadsheet."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from typing import TextIO

# Control characters (C0 without tab and newline, C1); marks of writing direction; invisible
# characters, without the two joiners; surrogates; tags.
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)

_SIGNS = "-=+@＝＋－＠﹦﹢﹣﹫−"
_SEPARATORS = frozenset(";,|\t\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")
_SKIPPED = r'[\s";,|\x00-\x1f\u200b\u2060\ufeff]'
_BEFORE = re.compile(f"(?<!{_SKIPPED}){_SKIPPED}++(?=[{_SIGNS}])")
_FORMULA = (*_SIGNS, "\t", "\r", "\n")
"""How a cell begins that a spreadsheet would compute. Source: OWASP, "CSV Injection"."""


def inert(text: str) -> str:
    """Put a quote before what a spreadsheet would compute: a text, or what of it stands after a
    sign that separates cells elsewhere."""

    def quoted(run: re.Match[str]) -> str:
        begins = run.start() == 0 or not _SEPARATORS.isdisjoint(run[0])
        return f"{run[0]}'" if begins else run[0]

    marked = _BEFORE.sub(quoted, text)
    return f"'{marked}" if text.startswith(_FORMULA) else marked


def printable(text: str) -> str:
    """Return `text` with newlines and tabs as its only controls; JSON stays valid JSON."""
    return text if text.isprintable() else _OBEYED.sub(_written_out, text)


class PrintableStream:
    """A standard stream that writes only `printable` text."""

    buffer = None
    """No access to the raw bytes, which would bypass `write`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        if isinstance(stream, io.TextIOWrapper):  # the locale may have only ASCII
            stream.reconfigure(errors="backslashreplace")

    def write(self, text: str | bytes, /) -> int:
        """Write a text, or the bytes of one, as click prints what a shell completes."""
        said = text if isinstance(text, str) else text.decode()
        self._pass(self._stream.write, printable(said))
        return len(text)

    def flush(self) -> None:
        self._pass(self._stream.flush)

    def writelines(self, lines: list[str], /) -> None:
        for line in lines:
            self.write(line)

    def _pass(self, act: Callable[..., object], *words: str) -> None:
        """Write; where nobody reads any more, what is left goes nowhere."""
        try:
            act(*words)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def _written_out(sign: re.Match[str]) -> str:
    code = ord(sign[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
