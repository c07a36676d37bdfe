"""The log of a test that opens none: structlog as it is, with tracebacks as Python has them."""

from __future__ import annotations

import structlog
from structlog.dev import ConsoleRenderer, plain_traceback


def reset() -> None:
    """Undo what a program that ran in this process made of the log.

    By itself structlog draws tracebacks with rich, which comes with a tool for tests: that takes
    seconds for one exception deep in a turn.
    """
    structlog.reset_defaults()
    processors = structlog.get_config()["processors"]
    structlog.configure([*processors[:-1], ConsoleRenderer(exception_formatter=plain_traceback)])
