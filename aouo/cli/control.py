"""The client of `run/control.sock`: sends a line of JSON, and reads lines of JSON back."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Generator, Iterator
from io import BufferedRWPair
from typing import Any, TypeAlias, cast

from aouo.facts.errors import SetupError
from aouo.plumbing.home import Home, is_locked, reachable

Answer: TypeAlias = dict[str, Any]
BEGINS_S = 5.0
"""How long to wait until a bot listens, which takes its home's lock before."""
_EVERY_S = 0.02


class NotRunning(SetupError):
    """No bot answers at this home."""

    exit_code = 1

    def __init__(self, home: Home) -> None:
        super().__init__(f"aouo is not running at {home.path}.", fix="Start it with `aouo start`.")


class NoAnswer(SetupError):
    """The running bot refuses the request, or does not answer."""

    def __init__(self, problem: str, *, fix: str = "", exit_code: int = 1) -> None:
        super().__init__(problem, fix=fix)
        self.exit_code = exit_code


def ask(
    home: Home,
    verb: str,
    *,
    timeout_s: float = 10,
    begins_s: float | None = None,
    **arguments: object,
) -> Answer:
    """Send one request and return its answer, without `ok`.

    Raises:
        NotRunning: no bot listens within `begins_s` (None: `BEGINS_S`).
        NoAnswer: the bot refused, was silent for `timeout_s`, or closed the connection.
    """
    with _connected(home, timeout_s, BEGINS_S if begins_s is None else begins_s) as lines:
        _send(lines, verb, arguments)
        return _checked(_read(lines))


def stream(
    home: Home, verb: str, *, timeout_s: float = 10, **arguments: object
) -> Iterator[Answer]:
    """Send one request and yield its answers until `{"done": true}`.

    `timeout_s` is the longest pause between two of them. Raises as `ask`.
    """
    with _connected(home, timeout_s, BEGINS_S) as lines:
        _send(lines, verb, arguments)
        while True:
            answer = _read(lines)
            if answer.get("done"):
                return
            yield _checked(answer) if "ok" in answer else answer


@contextlib.contextmanager
def _connected(home: Home, timeout_s: float, begins_s: float) -> Generator[BufferedRWPair]:
    with _socket(home, timeout_s, begins_s) as sock:
        try:
            with sock.makefile("rwb") as lines:
                yield lines
        except TimeoutError:
            raise NoAnswer(
                f"The running aouo did not answer within {timeout_s:g} s.",
                fix="See `aouo logs`.",
            ) from None
        except (OSError, ValueError) as error:
            raise NoAnswer(f"The running aouo broke off: {error}.") from error


def _socket(home: Home, timeout_s: float, begins_s: float) -> socket.socket:
    """Connect to the bot; wait for one that holds the lock and does not listen yet."""
    until_s = time.monotonic() + begins_s
    while True:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(timeout_s)
        try:
            with reachable(home.control_socket) as address:
                sock.connect(address)
            return sock
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            sock.close()
            if time.monotonic() >= until_s or not is_locked(home):
                raise NotRunning(home) from None
        except OSError as error:
            sock.close()
            raise NoAnswer(f"The running aouo cannot be reached: {error}.") from error
        time.sleep(_EVERY_S)


def _send(lines: BufferedRWPair, verb: str, arguments: dict[str, object]) -> None:
    lines.write(json.dumps({"verb": verb, **arguments}).encode() + b"\n")
    lines.flush()


def _read(lines: BufferedRWPair) -> Answer:
    line = lines.readline()
    if not line:
        raise NoAnswer("The running aouo closed the connection without an answer.")
    answer = json.loads(line)
    if not isinstance(answer, dict):
        raise NoAnswer("The running aouo answered with something else than an object.")
    return cast("Answer", answer)


def _checked(answer: Answer) -> Answer:
    if not answer.pop("ok", False):
        raise NoAnswer(
            str(answer.get("error", "refused")),
            fix=str(answer.get("fix", "")),
            exit_code=int(answer.get("exit_code", 1)),
        )
    return answer
