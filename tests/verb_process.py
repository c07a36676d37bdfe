"""Verbs as processes of their own, with an import of the program for all of them.

The first one starts a server that has imported what verbs import; each verb is a real process,
forked from it, with the descriptors, the arguments and the environment that it was given. What
`python -m aouo` does before a verb is met in `tests/cli/test_other_machines.py` and its like.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

from aouo.__main__ import main

_IMPORTED = (
    "aouo.app.wiring",
    "aouo.cli.doctor",
    "aouo.cli.packs.export",
    "aouo.cli.packs.install",
    "aouo.cli.packs.test",
    "aouo.app.local.conversing",
    "aouo.telegram.messenger",
    "tests.verb_process",
)


def begin(
    words: Sequence[str],
    *,
    stdout: int,
    stderr: int,
    stdin: int | None = None,
    environ: Mapping[str, str] = os.environ,
) -> ForkServerProcess:
    """Start `aouo` with these words on these descriptors; without `stdin` there is none to read."""
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(list(_IMPORTED))
    with Path(os.devnull).open() as nobody:
        read_from = nobody.fileno() if stdin is None else stdin
        standard = tuple(map(_Descriptor, (read_from, stdout, stderr)))
        asked = (tuple(words), standard, dict(environ))
        process = forks.Process(target=_be, args=asked, daemon=True)
        process.start()
    return process


class _Descriptor:
    """A descriptor of ours that arrives as one of the other process."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (DupFd(self.number),)  # sends it, as it is written for the server


def _arrived(sent: Any) -> _Descriptor:
    return _Descriptor(sent.detach())


def _be(words: Sequence[str], standard: Sequence[_Descriptor], environ: Mapping[str, str]) -> None:
    for number, ours in enumerate(standard):
        os.dup2(ours.number, number)
        os.close(ours.number)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = ["aouo", *words]
    main()
