"""Runs in the sandbox: puts up the last walls, then calls a tool's function or its command.

A bare Python starts this file by its path, so it imports only the standard library and the two
modules beside it. `argv[1]` is the order as JSON (see `aouo.guard.sandbox.order`); the tool's
input comes on stdin. A function's answer goes to the real stdout as one JSON object, `value` or
`error`; what the function prints goes to stderr.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any, NoReturn, cast

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib takes 4 ms
_FAILED = 70


def main() -> None:
    order: dict[str, Any] = json.loads(sys.argv[1])
    sys.path.insert(0, _HERE)
    import walls

    if order["nested"]:
        _become_inner(order, walls)
    elif order["mounts"]:
        walls.new_mounts()
    if order["mounts"]:
        walls.mount(**order["mounts"])
    if order["egress"] >= 0:
        _open_door(order, walls)
    walls.limit(order["limits"])
    _confine(order, walls)
    sys.path.remove(_HERE)
    run: dict[str, Any] = order["run"]
    if order["asks"] >= 0:
        os.environ["AOUO_ASK"] = str(order["asks"])
        sys.path.append(order["given"])
    if "argv" in run:
        os.execve(run["program"], run["argv"], os.environ)
    _call(run)


def _become_inner(order: dict[str, Any], walls: Any) -> None:
    """Go on in a child process; its parent stays outside the walls, and ends all that is left."""
    walls.die_with_parent(signal.SIGTERM, order["parent"])
    if order["namespaces"]:
        walls.new_namespaces()
        walls.die_with_parent(signal.SIGTERM, order["parent"])  # a new user namespace clears it
        _fork_and_wait(walls)  # the child is the first process of its namespace: its end ends all
    else:
        walls.adopt_orphans()
    _fork_and_wait(walls)


def _fork_and_wait(walls: Any) -> None:
    """Return in a child; the parent waits for it, then ends all descendants and itself."""
    signal.signal(signal.SIGTERM, _end)
    me = os.getpid()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        walls.die_with_parent(signal.SIGKILL, os.getppid() and me)  # 0: in another namespace
        return
    status = _FAILED << 8
    try:
        while True:
            pid, status = os.wait()
            if pid == child:
                break
    except SystemExit:
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _end_descendants()
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _end(signum: int, frame: object) -> NoReturn:
    del signum, frame
    raise SystemExit


def _end_descendants() -> None:
    """Kill children until there are none; a child's children become ours when it ends."""
    me = os.getpid()
    if me == 1:
        return  # the namespace ends with us
    while True:
        with open(f"/proc/{me}/task/{me}/children", "rb") as file:  # noqa: PTH123
            children = [int(pid) for pid in file.read().split()]
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def _open_door(order: dict[str, Any], walls: Any) -> None:
    """Give the runtime a listening socket of our network, and name it as proxy to the tool."""
    import socket

    if order["nested"]:
        walls.loopback_up()
    with (
        socket.socket(socket.AF_UNIX, fileno=order["egress"]) as runtime,
        socket.create_server(("127.0.0.1", 0), backlog=64) as listening,
    ):
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        socket.send_fds(runtime, [b"1"], [listening.fileno()])
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        os.environ[name] = address


def _confine(order: dict[str, Any], walls: Any) -> None:
    if order["calls"] is None:
        return
    import syscalls

    walls.drop_privileges()
    if rules := order["landlock"]:
        walls.landlock(**rules)
    if syscalls.is_known():
        walls.filter_calls(syscalls.program(**order["calls"]))


def _call(run: dict[str, Any]) -> None:
    """Call a function of a pack's file; print one JSON object, also if it fails."""
    answer = os.dup(1)
    os.dup2(2, 1)
    given = json.loads(sys.stdin.buffer.read())
    try:
        said = _said({"value": _plain(_value(run, given))})
    except BaseException as error:  # noqa: BLE001 - SystemExit too is the tool's failure
        said = _said({"error": _words(error), "where": _where(error, run["file"])})
    sys.stdout.flush()
    with os.fdopen(answer, "wb") as out:
        out.write(said)


def _value(run: dict[str, Any], given: dict[str, Any]) -> object:
    import importlib.util

    sys.path[:0] = run["path"]
    sys.pycache_prefix = os.devnull  # compiled files need not match the checked source
    spec = importlib.util.spec_from_file_location(run["module"], run["file"])
    if spec is None or spec.loader is None:
        raise ImportError(f"{run['file']} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[run["module"]] = module
    spec.loader.exec_module(module)
    value = getattr(module, run["function"])(**given)
    if hasattr(value, "__await__"):
        import asyncio

        async def awaited() -> object:
            return await value

        return asyncio.run(awaited())
    return value


class _NoAnswer(Exception):
    """A function returned a value that JSON cannot hold: a mistake of the tool's author."""


def _plain(value: Any) -> Any:
    """Return a function's result as JSON types.

    Sets become sorted lists, times ISO 8601, `Decimal`, `Path` and `UUID` text.

    Raises:
        _NoAnswer: it holds bytes, NaN, infinity, or an object of another class.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if value - value != 0:
            raise _no_answer(repr(value))
        return value
    if isinstance(value, dict):
        return {_key(k): _plain(item) for k, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("list[Any]", value)]
    return _plain_of_library(value)


def _plain_of_library(value: Any) -> Any:
    from collections.abc import Set
    from dataclasses import fields, is_dataclass
    from datetime import date, time, timedelta
    from decimal import Decimal
    from enum import Enum
    from pathlib import PurePath
    from uuid import UUID

    match value:
        case Set():
            items = list(cast("Set[Any]", value))
            try:
                items.sort()
            except TypeError:  # of several kinds
                items.sort(key=repr)
            return [_plain(item) for item in items]
        case date() | time():
            return value.isoformat()
        case Decimal() if not value.is_finite():
            raise _no_answer(repr(value))
        case Decimal() | PurePath() | UUID() | timedelta():
            return str(value)
        case Enum():
            return _plain(value.value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
        case _:
            raise _no_answer(type(value).__name__)


def _key(key: Any) -> str:
    plain = _plain(key)
    return plain if isinstance(plain, str) else json.dumps(plain)


def _no_answer(what: str) -> _NoAnswer:
    return _NoAnswer(
        f"it returned {what}, which is no JSON. Whoever wrote this tool has to make it return "
        "text, numbers, lists, dicts or None; calling it again does not help."
    )


def _said(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _words(error: BaseException) -> str:
    if isinstance(error, _NoAnswer):
        return str(error)
    if isinstance(error, MemoryError):
        return "MemoryError: it needs more memory than a tool may use"
    return f"{type(error).__name__}: {error}"[:2000]


def _where(error: BaseException, file: str) -> int:
    """Return the last line of the pack's file in the traceback, 0 = none."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno or 0
    line, at = 0, error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == file:
            line = at.tb_lineno
        at = at.tb_next
    return line


if __name__ == "__main__":
    main()
