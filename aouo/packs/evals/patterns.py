"""Searches for an eval's regular expressions, which are untrusted, within a time limit."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import NoReturn

LIMIT_S = 2.0
"""For all patterns of a step."""


class _TookTooLong(Exception):
    """A pattern was still being looked for when the time was over."""


def unmatched(patterns: Iterable[str], text: str) -> list[str]:
    """Say which patterns do not match, as a step does; none is tried after one that times out."""
    wrong: list[str] = []
    pattern = ""
    try:
        with _limit():
            for pattern in patterns:
                if not re.search(pattern, text):
                    wrong.append(f"a reply that matches {pattern!r}")
    except _TookTooLong:
        fix = "write it without repeats inside repeats"
        wrong.append(f"a reply that matches {pattern!r}, found within {LIMIT_S:g} s; {fix}")
    return wrong


@contextmanager
def _limit() -> Generator[None]:
    """End what runs inside by a signal: a search holds the interpreter and hears nothing else.

    Only the main thread gets signals; in another one there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def over(number: int, frame: object) -> NoReturn:
        del number, frame
        raise _TookTooLong

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
