"""While no bot runs, `aouo dashboard` shows what is stored, and changes nothing."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing

import pytest
from aiohttp import ClientSession
from click.testing import CliRunner
from yarl import URL

from aouo.cli.main import aouo
from tests.path.dashboard.looking import dashboard, resting
from tests.path.looking import eventually, settled
from tests.path.world import ADA, ROOT, WAIT_S, World

BESIDE = "No bot runs. This shows what is stored, read only, until Ctrl-C.\n"
OTHERS = (
    "data/aouo.db has the tables of another aouo, and before 0.1.0 nothing is carried over: move "
    "the folder data away, or start with a new home (--home).\n"
)


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
    assert (refused, out, errors, process.returncode) == (401, b"", BESIDE.encode(), 0)
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


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "cannot be read: it is empty. Start the bot once."),
        (b"no database at all" * 500, "cannot be read: file is not a database."),
    ],
)
async def test_what_is_no_database_is_told_in_a_sentence(
    world: World, content: bytes, why: str
) -> None:
    async with world.running():
        pass
    world.home.database.write_bytes(content)

    assert why in await refusal(world, "dashboard")


async def test_the_tables_of_another_schema_are_refused_in_one_sentence(world: World) -> None:
    world.install("notes")
    async with world.running():
        pass
    with closing(sqlite3.connect(world.home.database)) as database:
        database.execute("PRAGMA user_version=1")
    for verb in (
        "start",
        "dashboard",
        "pack list",
        "pack uninstall notes --yes",
        "usage",
        "session list",
    ):
        told = await refusal(world, *verb.split())

        assert told == OTHERS, verb
    command = ("--home", str(world.home.path), "doctor", "--fast", "--json")
    result = await asyncio.to_thread(CliRunner().invoke, aouo, command)
    (failed,) = (one for one in json.loads(result.stdout)["checks"] if one["status"] == "fail")

    assert (failed["name"], result.exit_code) == ("database", 1)


async def refusal(world: World, *verb: str) -> str:
    """Run a verb that ends with 3; return what it prints on stderr."""
    world.configure()
    command = ("--home", str(world.home.path), *verb)
    result = await asyncio.to_thread(CliRunner().invoke, aouo, command)
    assert result.exit_code == 3, verb
    return result.stderr.removeprefix(BESIDE)


# The page finds what `aouo doctor` finds, when somebody presses for it


async def test_the_page_finds_what_the_doctor_finds(world: World) -> None:
    async with dashboard(world) as shown:
        status, found = await shown.send("POST", "/api/doctor", {"fast": True})
        _, about = await shown.get("/api/doctor")

    runner = CliRunner(env={"AOUO_HOME": str(world.home.path)})
    ran = await asyncio.to_thread(runner.invoke, aouo, ["doctor", "--fast", "--json"])
    told = json.loads(ran.stdout)
    assert status == 200
    assert found["checks"] == told["checks"]
    assert about["last"] == found
    assert "fake scripted: one small question with a tool, a fraction of a cent." in about["asks"]


async def test_one_doctor_at_a_time(world: World) -> None:
    async with dashboard(world) as shown:

        async def runs() -> bool:
            return (await shown.get("/api/doctor"))[1]["runs"]

        async with asyncio.TaskGroup() as group:
            first = group.create_task(shown.send("POST", "/api/doctor", {"fast": True}))
            await eventually(runs)
            status, told = await shown.send("POST", "/api/doctor", {"fast": True})

    assert first.result()[0] == 200
    assert (status, told) == (409, {"error": "The checks run already; wait for their end."})
