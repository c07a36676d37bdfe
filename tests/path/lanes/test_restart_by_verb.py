"""`aouo restart` with a real `aouo start`: the same process begins anew, in its home.

Source: contract, "Command line". A supervisor that watches the process id sees nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.path.looking import answers, said
from tests.path.world import ADA, ROOT, WAIT_S, World
from tests.plumbing.test_systemd import manager
from tests.sampling import left

pytestmark = left()


async def program(world: World, *words: str, out: int = PIPE) -> Process:
    environ = {key: value for key, value in os.environ.items() if not key.startswith("AOUO_")}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "aouo", f"--home={world.home.path}", *words),
        cwd=ROOT,
        env=environ,
        stdin=DEVNULL,
        stdout=out,
        stderr=DEVNULL,
    )


async def verb(world: World, *words: str) -> dict[str, Any]:
    """What a verb says in a terminal of its own."""
    process = await program(world, *words, "--json")
    async with asyncio.timeout(WAIT_S):
        said, _ = await process.communicate()
    assert process.returncode == 0
    return json.loads(said)


@asynccontextmanager
async def started(world: World) -> AsyncGenerator[Process]:
    """`aouo start`, and its end at SIGTERM."""
    world.configure()
    process = await program(world, "start", out=DEVNULL)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(WAIT_S):
                await process.wait()
        finally:
            if process.returncode is None:
                process.kill()


async def test_a_restart_keeps_the_process_reads_the_config_anew_and_answers_again(
    world: World,
) -> None:
    world.install("notes")
    async with started(world) as process:
        await world.people.say(ADA, ADA, "before")
        await said(world, "before")
        first = await verb(world, "status")
        world.config = {"provider": {"backend": "fake", "model": "another"}}
        world.configure()
        told = await verb(world, "restart")
        await world.people.say(ADA, ADA, "after")
        await said(world, "after")

    assert (first["pid"], told["pid"], told["restarted"]) == (process.pid, process.pid, True)
    assert first["since"] < told["since"]
    assert (first["model"]["model"], told["model"]["model"]) == ("scripted", "another")
    assert await answers(world) == ["before", "after"]
    assert process.returncode == 0


async def test_to_systemd_a_restart_is_a_reload_and_only_the_end_is_an_end(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After `STOPPING=1` it would wait for a process id that never ends, and then kill it."""
    address = str(tmp_path / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    with manager(address) as heard:
        heard.setblocking(False)
        async with started(world):
            first = await next_word(heard, "READY=1")
            await verb(world, "restart")
            second = await next_word(heard, "READY=1")
        last = await next_word(heard, "STOPPING=1")

    assert [first[-1], last[-1]] == ["READY=1", "STOPPING=1"]
    assert [word for word in second if not word.startswith("STATUS")] == ["RELOADING=1", "READY=1"]


async def next_word(heard: socket.socket, word: str) -> list[str]:
    """The first fact of each message up to one that begins with this."""
    words = list[str]()
    async with asyncio.timeout(WAIT_S):
        while word not in words:
            message = await asyncio.get_running_loop().sock_recv(heard, 4096)
            words.append(message.decode().splitlines()[0])
    return words
