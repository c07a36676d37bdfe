"""While no bot runs, `aouo dashboard` shows what is stored, and changes nothing."""

from __future__ import annotations

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from aiohttp import ClientSession
from yarl import URL

from tests.fakes.old_home import put_old_database
from tests.path.dashboard.looking import resting
from tests.path.looking import settled
from tests.path.world import ADA, ROOT, WAIT_S, World

OLDER = "an older aouo wrote it. Start the bot once, which brings it up to date."


@asynccontextmanager
async def at_rest(world: World) -> AsyncGenerator[tuple[Process, URL]]:
    """Run the command until the block ends; yield where it says the page is."""
    world.config = {"dashboard": {"port": 0}}
    world.configure()
    command = (sys.executable, "-P", "-m", "aouo", "--home", str(world.home.path), "dashboard")
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE, cwd=ROOT)
    assert process.stdout
    try:
        async with asyncio.timeout(WAIT_S):
            line = await process.stdout.readline()
        yield process, URL(line.decode().strip())
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_what_is_stored_is_shown_and_nothing_is_changed(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("hello")
        await settled(bot)
    before = world.home.database.read_bytes()
    async with at_rest(world) as (_, link), ClientSession() as client:
        headers = {"X-Aouo-Token": link.query["token"]}
        address = link.with_path("/api/usage").with_query(days=3650)
        async with client.get(address, headers=headers) as answer:
            usage = await answer.json()
        for path in ("/api/status", "/api/packs", "/page/main.js"):
            async with client.get(link.with_path(path), headers=headers) as answer:
                assert answer.status == 200, path

    assert usage["totals"]["calls"] == 1
    assert world.home.database.read_bytes() == before


async def test_it_prints_the_link_and_beside_it_that_no_bot_runs_until_ctrl_c(world: World) -> None:
    async with at_rest(world) as (process, link), ClientSession() as client:
        async with client.get(link.with_path("/nothing")) as answer:
            refused = answer.status
        async with asyncio.timeout(WAIT_S):
            process.send_signal(signal.SIGINT)
            out, errors = await process.communicate()

    assert link.query["token"]
    beside = b"No bot runs. This shows what is stored, read only, until Ctrl-C.\n"
    assert (refused, out, errors, process.returncode) == (401, b"", beside, 0)
    assert not world.home.dashboard_token.exists()


async def test_no_change_is_taken_and_each_refusal_is_a_sentence(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        await bot.ask("hello")
        await settled(bot)
    names = {"pack": "notes", "chat": "notes", "tenant": f"tg_{ADA}", "file": "MEMORY.md"}
    samples = {"string": "a", "integer": 1, "boolean": True, "object": {}}
    async with resting(world) as shown:
        before = world.home.database.read_bytes()
        _, document = await shown.get("/api/openapi.json")
        told = {}
        for path, ways in document["paths"].items():
            for way in {"post", "put", "delete"} & set(ways):
                named = path.format_map(defaultdict(lambda: "x", names))
                content = ways[way].get("requestBody", {}).get("content", {})
                schema = content.get("application/json", {}).get("schema", {})
                body = {
                    name: samples[one["type"]] for name, one in schema.get("properties", {}).items()
                }
                told[path] = await shown.send(way.upper(), named, body)
        told.pop("/api/doctor")  # which looks, and changes nothing
        after = world.home.database.read_bytes()

    assert len(told) > 10
    assert {path: status for path, (status, _) in told.items()} == dict.fromkeys(told, 409)
    assert all(facts["error"].endswith(".") for _, facts in told.values())
    assert before == after


@pytest.mark.parametrize("newest", ["0022", "0030", "0032"])
async def test_a_database_of_an_older_version_is_told_in_a_sentence_everywhere(
    world: World, newest: str
) -> None:
    world.install("notes")
    async with world.running():
        pass
    put_old_database(world.home.database, newest)
    names = {"pack": "notes", "chat": "notes", "tenant": f"tg_{ADA}", "file": "MEMORY.md"}
    async with resting(world) as shown:
        _, document = await shown.get("/api/openapi.json")
        paths = [path for path, ways in document["paths"].items() if "get" in ways]
        told = {
            path: await shown.get(path.format_map(defaultdict(lambda: "x", names)))
            for path in paths
            if path != "/api/live"  # which never ends
        }
    older = {
        path: status
        for path, (status, facts) in told.items()
        if isinstance(facts, dict) and OLDER in facts.get("error", "")
    }

    assert {path for path, (status, _) in told.items() if status >= 500} == {"/healthz"}
    assert {"/api/schedules", "/api/usage/export", "/api/chats/{chat}"} <= older.keys()
    assert {*older.values()} == {409}


@pytest.mark.parametrize("content", [b"", b"no database at all" * 500])
async def test_what_is_no_database_is_told_in_a_sentence(world: World, content: bytes) -> None:
    async with world.running():
        pass
    world.home.database.write_bytes(content)
    async with resting(world) as shown:
        status, facts = await shown.get("/api/usage")

    assert status == 409
    assert facts["error"].startswith(f"{world.home.database} cannot be read: ")
