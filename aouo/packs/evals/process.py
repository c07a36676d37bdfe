"""Runs a pack's evals in a process of their own, so that a running bot is not disturbed."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from aouo.facts.errors import PackError
from aouo.packs.evals.results import EvalResult, from_json
from aouo.plumbing import children

_LIMIT_S = 600.0
_NICE = 10
_SANDBOX = "AOUO_SECURITY__SANDBOX"
"""The only setting of our environment that scripted evals are given."""


async def run_evals(
    folder: Path,
    *,
    pack: str = "",
    files: Sequence[str] = (),
    real: bool = False,
    home: Path | None = None,
    limit_s: float = _LIMIT_S,
) -> tuple[EvalResult, ...]:
    """Run the evals of the pack in `folder`, or those in `files`; () = it has none. `pack` is its
    name if the folder has another one.

    The process reads the settings of `home` and gives `security.sandbox` to the evals; it gets
    our whole environment only if `real`, without secrets otherwise. It leaves the processor to
    whoever else needs it. A cancellation ends it.

    Raises:
        PackError: the pack is not sound, or the evals did not end within `limit_s`.
    """
    name = pack or folder.name
    command = [sys.executable, "-m", "aouo"]
    command += ["--home", str(home)] if home else []
    command += ["pack", "test", "--json", *(["--real"] if real else [])]
    command += ["--", str(folder), *files]
    process = await children.spawn(
        *command,
        env=dict(os.environ) if real else _without_secrets(os.environ),
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    with suppress(OSError):  # it has ended already
        os.setpriority(os.PRIO_PROCESS, process.pid, _NICE)
    try:
        async with asyncio.timeout(limit_s):
            said, complaint = await process.communicate()
    except TimeoutError:
        raise PackError(f"The evals of {name} did not end within {limit_s:g} s.") from None
    finally:
        await children.end(process)
    return _results(name, said, complaint)


def _results(name: str, said: bytes, complaint: bytes) -> tuple[EvalResult, ...]:
    try:
        facts = cast("dict[str, Any]", json.loads(said))
        results = from_json(facts["evals"])
        problems = [f"{each['file']}: {each['message']}" for each in facts["problems"]]
    except (ValueError, KeyError, TypeError) as error:
        why = complaint.decode("utf-8", "replace").strip()[-500:] or "it said nothing"
        raise PackError(f"The evals of {name} could not be run: {why}") from error
    if problems:
        raise PackError(f"{name} is not sound: {'; '.join(problems)}.")
    return results


def _without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    told = {_SANDBOX: environ[_SANDBOX]} if _SANDBOX in environ else {}
    return children.clean_environment(environ) | told
