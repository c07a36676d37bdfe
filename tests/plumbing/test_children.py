"""Children of ours know no secret and never outlive us; the rules are ours."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process

import pytest

from aouo.plumbing import children

WAIT_S = 20.0
DEAF = """
import signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import signal; print('up', flush=True); signal.pause()"])
signal.pause()
"""
"""It started another one, hears no signal and does not look at its stdin."""


async def deaf() -> Process:
    process = await children.spawn(*children.PYTHON, "-c", DEAF)
    async with asyncio.timeout(WAIT_S):
        assert process.stdout is not None
        assert await process.stdout.readline() == b"up\n"
    return process


async def nobody_is_left(process: Process) -> bool:
    """Their output ends when the last one that could write to it has ended."""
    async with asyncio.timeout(WAIT_S):
        assert process.stdout is not None
        return await process.stdout.read() == b"" and await process.wait() == -9


async def test_a_child_is_told_nothing_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a secret")
    monkeypatch.setenv("AOUO_TELEGRAM__BOT_TOKEN", "a secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://ada:secret@proxy.corp")
    monkeypatch.setenv("LC_TIME", "C")
    code = "import os; print(*sorted(os.environ), *os.environ.values(), sep='\\n')"
    process = await children.spawn(*children.PYTHON, "-c", code)
    async with asyncio.timeout(WAIT_S):
        said = (await process.communicate())[0].decode()

    assert "secret" not in said
    assert "AOUO" not in said
    assert {"PATH", "LC_TIME"} <= set(said.splitlines())


async def test_who_ends_when_its_input_does_is_left_the_time() -> None:
    code = "import sys; sys.stdin.read(); print('bye')"
    process = await children.spawn(*children.PYTHON, "-c", code)
    await children.end(process, patience_s=WAIT_S)

    assert process.returncode == 0
    assert process.stdout is not None
    assert await process.stdout.read() == b"bye\n"


async def test_who_does_not_end_is_killed_with_all_it_started() -> None:
    process = await deaf()
    await children.end(process, patience_s=0.05)

    assert await nobody_is_left(process)


async def test_who_stops_waiting_for_the_end_leaves_nobody_behind() -> None:
    process = await deaf()
    asked = asyncio.Event()
    async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        ending = group.create_task(
            children.end(process, patience_s=600, ask=lambda process: asked.set())
        )
        await asked.wait()
        ending.cancel()

    assert await nobody_is_left(process)
