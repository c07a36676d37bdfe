"""`aouo restart` with a real `aouo start`: the same process begins anew, in its home.

Source: contract, "Command line". A supervisor that watches the process id sees nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from tests.path.looking import answers, said
from tests.path.world import ADA, ROOT, WAIT_S, World


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
