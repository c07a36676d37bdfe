"""MCP servers: there when needed, gone with the runtime, never its end. Source: issue 3 "Tools"."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from aouo.agent.tools.mcp_servers import CONNECT_S, Server, supervised
from aouo.config.sections import McpServer
from aouo.facts.errors import OutcomeUnknown, ToolFailed
from aouo.plumbing.web.session import session_through
from tests.agent.tools.calling import call
from tests.fakes.clock import FastClock
from tests.fakes.hostile_mcp_server import ORDER
from tests.fakes.mcp_server import PICTURE, free_port
from tests.fakes.model_server import Body, CallPart, Says, words_of
from tests.fakes.proxy_server import ProxyServer
from tests.fakes.road import Road
from tests.path.looking import eventually, said
from tests.path.world import ADA, BEN, ROOT, WAIT_S, World

PACK = """
name: desk
version: 1.0.0
display_name: Desk
permissions:
  tools: [{tools}]
"""


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """What the fake server wrote: when it was started and what it was called with."""
    return tmp_path / "journal.jsonl"


def stdio(journal: Path, *more: str, **env: str) -> dict[str, Any]:
    return {
        "command": sys.executable,
        "args": ["-m", "tests.fakes.mcp_server", "--journal", str(journal), *more],
        "env": {"PYTHONPATH": str(ROOT), **env},
    }


def lines(journal: Path) -> list[dict[str, Any]]:
    if not journal.exists():
        return []
    return [json.loads(line) for line in journal.read_text().splitlines()]


def starts(journal: Path) -> list[int]:
    """The process ids of the server's lives so far."""
    return [line["pid"] for line in lines(journal) if "started" in line]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def replies(world: World, servers: Mapping[str, Any], tools: str = "msg, mcp:fake") -> None:
    """Install a pack that may use these tools."""
    folder = world.home.packs / "desk"
    folder.mkdir()
    (folder / "pack.yml").write_text(PACK.format(tools=tools))
    world.config = {"mcp": {"servers": dict(servers)}, "telegram": {"streaming": "off"}}


def results(world: World) -> list[str]:
    """What the model read as results, in its last request."""
    messages = world.model.requests[-1]["messages"]
    return [words_of(m) for m in messages if m["role"] == "tool"]


def shown(world: World, request: int) -> set[str]:
    tools = world.model.requests[request].get("tools", [])
    return {item["function"]["name"] for item in tools}


async def test_a_member_uses_a_tool_server_of_the_owners_only_by_their_yes(
    world: World, journal: Path
) -> None:
    """Issue 31 "People": the owner is asked in their chat, also about a look, until a rule names
    the person."""
    replies(world, {"fake": stdio(journal)})
    world.config["telegram"]["allowed_user_ids"] = [ADA, BEN]
    for answer in ("refused", "allowed", "not asked again"):
        world.model.call("mcp__fake__echo", {"text": answer})
        world.model.say(f"{answer}!")
    shown_id = 0
    async with world.running() as bot:
        for answer in ("deny", "always"):
            asked = await bot.people.say(BEN, BEN, "say it back")
            card = await bot.people.next_message(
                ADA, contains="somebody else wants it", after=shown_id
            )
            shown_id = card.id
            data = next(b.data for b in card.buttons if b.data.endswith(f":{answer}"))
            await bot.people.tap(ADA, ADA, card.id, data)
            await bot.people.next_message(BEN, contains="!", after=asked.id)
        last = await bot.ask("once more", chat=BEN, user=BEN)
        grants = await bot.rows("SELECT tool, target, person FROM grants")

    assert [line["echo"] for line in lines(journal) if "echo" in line] == [
        "allowed",
        "not asked again",
    ]
    assert last.text == "not asked again!"
    assert grants == [{"tool": "mcp__fake__echo", "target": "*", "person": str(BEN)}]


async def test_a_model_loads_a_servers_tools_and_calls_them(world: World, journal: Path) -> None:
    replies(world, {"fake": stdio(journal)})
    world.model.call("load_tools", {"names": ["mcp:fake"]})
    world.model.call("mcp__fake__add", {"a": 2, "b": 3})
    world.model.say("five")
    async with world.running() as bot:
        answer = await bot.ask("2 + 3?")
        alive = [is_alive(pid) for pid in starts(journal)]
        facts = {one.group: one.facts() for one in bot.app.generations.now.servers}

    assert answer.text == "five"
    assert "mcp__fake__add" not in shown(world, 0)
    assert {"mcp__fake__add", "mcp__fake__echo"} <= shown(world, 1)
    loaded, added = results(world)
    assert "mcp__fake__add" in loaded
    assert added.splitlines()[1] == "5"
    assert (alive, facts["mcp:fake"]["state"]) == ([True], "up")
    assert [is_alive(pid) for pid in starts(journal)] == [False]


async def test_a_server_is_not_started_before_somebody_needs_it(
    world: World, journal: Path
) -> None:
    """Nor is the SDK imported, which takes a second: see docs/design.md."""
    replies(world, {"fake": stdio(journal)})
    async with world.running() as bot:
        await bot.ask("hello")
        facts = {one.group: one.facts() for one in bot.app.generations.now.servers}

    assert (starts(journal), facts["mcp:fake"]["state"]) == ([], "not connected")


async def test_a_pack_without_leave_reaches_no_server(world: World, journal: Path) -> None:
    replies(world, {"fake": stdio(journal)}, tools="msg")
    world.model.call("mcp__fake__echo", {"text": "x"})
    world.model.say("no")
    async with world.running() as bot:
        await bot.ask("try")

    assert "There is no tool 'mcp__fake__echo' here" in results(world)[0]
    assert starts(journal) == []


async def test_a_server_that_is_down_is_said_to_the_model_and_the_bot_answers(
    world: World,
) -> None:
    replies(world, {"fake": {"command": "no-such-program"}})
    world.model.call("load_tools", {"names": ["mcp:fake"]})
    world.model.say("it is down")
    async with world.running() as bot:
        answer = await bot.ask("use it")
        facts = {one.group: one.facts() for one in bot.app.generations.now.servers}

    assert answer.text == "it is down"
    why = "there is no program 'no-such-program'"
    assert f"The server 'fake' is down: {why}." in results(world)[0]
    assert facts == {"mcp:fake": {"state": "down", "tools": 0, "why": why}}


async def test_a_server_that_dies_in_a_call_is_there_again_for_the_next(
    world: World, journal: Path
) -> None:
    replies(world, {"fake": stdio(journal)})
    world.model.call("mcp__fake__crash")
    world.model.call("mcp__fake__echo", {"text": "back"})
    world.model.say("done")
    async with world.running() as bot:
        answer = await bot.ask("break it")

    crashed, echoed = results(world)
    assert answer.text == "done"
    assert crashed.startswith("[outcome unknown: The server 'fake' went away while this ran.")
    assert echoed.splitlines()[1] == "back"
    assert len(starts(journal)) == 2
    assert [is_alive(pid) for pid in starts(journal)] == [False, False]


async def test_a_child_gets_path_home_and_what_is_configured_and_no_secret(
    world: World, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the owner configures is a secret in what the model reads, too."""
    monkeypatch.setenv("AOUO_OPENAI__API_KEY", "sk-of-somebody")
    replies(world, {"fake": stdio(journal, SERVICE_TOKEN="very-secret-token")})
    world.model.call("mcp__fake__env")
    world.model.call("mcp__fake__echo", {"text": "it is very-secret-token"})
    world.model.say("done")
    async with world.running() as bot:
        await bot.ask("look around")

    names, echoed = (text.splitlines()[1] for text in results(world))
    assert set(names.split()) - {"LC_CTYPE"} == {"HOME", "PATH", "PYTHONPATH", "SERVICE_TOKEN"}
    assert echoed == "it is [redacted]"


# Below the turn: one server by itself


@asynccontextmanager
async def one(settings: Mapping[str, Any], clock: FastClock) -> AsyncGenerator[Server]:
    server = McpServer.model_validate(settings)
    async with (
        session_through(clock=clock) as session,
        supervised({"fake": server}, clock, session) as servers,
    ):
        yield servers[0]


async def use(server: Server, name: str, **arguments: Any) -> str:
    """The text that a tool gave, out of its envelope."""
    async with asyncio.timeout(WAIT_S):
        tools = {item.name: item for item in await server.tools()}
        whole = await call(tools[f"mcp__fake__{name}"], **arguments)
    return "\n".join(whole.splitlines()[1:-1])


@asynccontextmanager
async def over_http(port: int) -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.fakes.mcp_server", "--port", str(port)),
        cwd=ROOT,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def reached(server: Server, clock: FastClock) -> None:
    """Wait until the server has begun to listen."""

    async def look() -> bool:
        clock.jump(61)
        try:
            return bool(await server.tools())
        except ToolFailed:
            return False

    await eventually(look)


async def test_a_server_that_is_closed_while_it_connects_is_gone_at_once() -> None:
    silent = {"command": sys.executable, "args": ["-c", "import time; time.sleep(60)"]}
    async with asyncio.TaskGroup() as group, one(silent, FastClock()) as server:
        asking = group.create_task(refused(server))
        await eventually(lambda: serving(server))
        async with asyncio.timeout(CONNECT_S / 2):
            await server.aclose()
        assert "is down" in await asking


async def serving(server: Server) -> bool:
    return server._serving is not None


async def refused(server: Server) -> str:
    with pytest.raises(ToolFailed) as caught:
        await server.tools()
    return str(caught.value)


async def test_a_server_behind_a_url_works_the_same_and_is_found_again() -> None:
    clock = FastClock()
    port = free_port()
    async with one({"url": f"http://127.0.0.1:{port}/mcp"}, clock) as server:
        async with over_http(port):
            await reached(server, clock)
            assert await use(server, "echo", text="hi") == "hi"
            with pytest.raises(OutcomeUnknown, match="went away while this ran"):
                await use(server, "crash")
        with pytest.raises(ToolFailed, match="is down"):
            await use(server, "echo", text="nobody there")
        async with over_http(port):
            await reached(server, clock)
            assert await use(server, "echo", text="again") == "again"


async def test_headers_go_with_every_request() -> None:
    from tests.fakes.web_server import Answer, WebServer

    async with WebServer() as site:
        site.pages["/mcp"] = Answer(status=401)
        settings = {"url": f"http://127.0.0.1:{site.port}/mcp", "headers": {"X-Key": "abc"}}
        async with one(settings, FastClock()) as server:
            with pytest.raises(ToolFailed, match="The server 'fake' is down"):
                await server.tools()

        assert {headers.get("X-Key") for _, _, headers in site.requests} == {"abc"}


async def test_results_that_are_no_text_are_described(journal: Path) -> None:
    async with one(stdio(journal), FastClock()) as server:
        picture = await use(server, "picture")
        with pytest.raises(ToolFailed, match="Error executing tool fail"):
            await use(server, "fail")
        odd = [item.name for item in await server.tools() if "odd" in item.name]

    assert picture == "Look:\n[picture: image/png, 72 bytes]"
    assert odd == ["mcp__fake__odd_name__ddabd1"]


async def test_a_picture_of_a_tool_is_seen_and_can_be_sent(world: World, journal: Path) -> None:
    """No service takes one in a result, so a model that sees reads it beside; the person is sent
    the file that is kept of it. Source: issue 30, number 6 (M)."""
    replies(world, {"fake": stdio(journal)})
    world.config["provider"] = {"backend": "fake", "model": "scripted", "vision": "on"}

    def script(body: Body) -> Says | str:
        match [words_of(one) for one in body["messages"] if one["role"] == "tool"]:
            case []:
                return Says(calls=(CallPart("load_tools", {"names": ["mcp:fake"]}),))
            case [_]:
                return Says(calls=(CallPart("mcp__fake__picture", {}),))
            case [_, seen]:
                (path,) = re.findall(r"artifacts/\w+\.png", seen)
                return Says(calls=(CallPart("msg", {"type": "photo", "url": path}),))
            case _:
                return "There it is."

    world.model.script = script
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "show me")
        await said(world, "There it is.")
        sent = await bot.people.calls("sendPhoto")

    pictures = [body["messages"][-1]["content"] for body in world.model.requests[2:]]
    for parts in pictures:
        assert [part["type"] for part in parts] == ["text", "image_url"]
        assert PICTURE in parts[1]["image_url"]["url"]
    assert len(sent) == 1


async def test_many_calls_at_once_start_one_process(journal: Path) -> None:
    async with one(stdio(journal), FastClock()) as server, asyncio.TaskGroup() as group:
        asked = [group.create_task(use(server, "echo", text=str(n))) for n in range(20)]

    assert [task.result() for task in asked] == [str(n) for n in range(20)]
    assert len(starts(journal)) == 1


async def test_who_stops_waiting_for_a_connection_takes_it_from_nobody(journal: Path) -> None:
    async with one(stdio(journal), FastClock()) as server, asyncio.TaskGroup() as group:
        first = group.create_task(server.tools())
        second = group.create_task(server.tools())
        await asyncio.sleep(0)
        first.cancel()

    assert first.cancelled()
    assert len(second.result()) == 8
    assert len(starts(journal)) == 1


async def test_a_call_that_is_stopped_leaves_the_server_usable(
    journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when it took longer than connecting may."""
    monkeypatch.setattr("aouo.agent.tools.mcp_servers.CONNECT_S", 5.0)
    async with one(stdio(journal), FastClock()) as server:
        await server.tools()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5.1):
                await use(server, "slow")
        assert await use(server, "echo", text="still here") == "still here"

    assert len(starts(journal)) == 1


async def test_a_server_that_died_while_nobody_looked_is_started_again_unseen(
    journal: Path,
) -> None:
    async with one(stdio(journal), FastClock()) as server:
        await server.tools()
        os.kill(starts(journal)[0], 9)
        await eventually(lambda: _is_not_up(server))
        assert await use(server, "echo", text="back") == "back"

    assert len(starts(journal)) == 2


async def _is_not_up(server: Server) -> bool:
    return server.facts()["state"] != "up"


async def test_each_failure_makes_the_pause_longer_up_to_a_minute() -> None:
    """The first is forgiven; in a pause nothing is started."""
    clock = FastClock(speed=0.001)
    async with one({"command": "no-such-program"}, clock) as server:
        await _down(server)
        for pause_s in (1, 2, 4, 8, 16, 32, 60, 60):
            assert "tried again" not in await _down(server)
            assert (await _down(server)).endswith(f"It is tried again in {pause_s} s.")
            clock.jump(pause_s)


async def _down(server: Server) -> str:
    with pytest.raises(ToolFailed) as failed:
        await server.tools()
    return str(failed.value)


async def test_a_server_that_never_answers_is_given_up_and_ended(
    journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aouo.agent.tools.mcp_servers.CONNECT_S", 4.0)
    async with one(stdio(journal, "--silent"), FastClock()) as server:
        with pytest.raises(ToolFailed, match=r"it did not answer in 4 s"):
            await server.tools()
        facts = server.facts()

    assert facts["state"] == "down"
    assert [is_alive(pid) for pid in starts(journal)] == [False]


async def test_a_model_that_calls_a_server_that_is_down_reads_why(world: World) -> None:
    replies(world, {"fake": {"command": "/nowhere/at-all"}})
    world.model.call("mcp__fake__add", {"a": 2, "b": 3})
    world.model.say("It is down.")
    async with world.running() as bot:
        answer = await bot.ask("2 + 3?")

    assert answer.text == "It is down."
    assert results(world)[0].startswith("The server 'fake' is down: ")


async def test_one_tool_of_a_server_can_be_permitted_and_no_other_is(
    world: World, journal: Path
) -> None:
    replies(world, {"fake": stdio(journal)}, "msg, mcp__fake__add")
    world.model.call("load_tools", {"names": ["mcp:fake"]})
    world.model.call("mcp__fake__add", {"a": 2, "b": 3})
    world.model.call("mcp__fake__echo", {"text": "hello"})
    world.model.say("five")
    async with world.running() as bot:
        answer = await bot.ask("2 + 3?")

    loaded, added, refused = results(world)
    assert answer.text == "five"
    assert loaded == "Ready: mcp__fake__add."
    assert added.splitlines()[1] == "5"
    assert refused.startswith("There is no tool 'mcp__fake__echo' here.")
    told = next(
        item["function"]["description"]
        for item in world.model.requests[0]["tools"]
        if item["function"]["name"] == "load_tools"
    )
    assert told.endswith("mcp:fake: mcp__fake__add")


def hostile(*more: str) -> dict[str, Any]:
    return {
        "command": sys.executable,
        "args": ["-m", "tests.fakes.hostile_mcp_server", *more],
        "env": {"PYTHONPATH": str(ROOT)},
    }


async def test_a_servers_own_words_reach_the_model_in_an_envelope_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whatever else it writes, and whatever its other tools look like."""
    async with one(hostile(), FastClock()) as server:
        offered = [item.name for item in await server.tools()]
        with pytest.raises(ToolFailed) as failed:
            await call((await server.tools())[0])

    assert offered == ["mcp__fake__do"]
    assert caplog.records == []
    assert re.fullmatch(
        rf'<untrusted source="mcp:fake" id="(\w+)">\n{re.escape(ORDER)}\n</untrusted \1>',
        str(failed.value),
    )


async def test_nothing_is_reckoned_by_the_form_that_a_server_says_of_its_answers() -> None:
    """A kilobyte of such a form holds the event loop, and with it the whole bot, for hours."""
    async with one(hostile("--forms"), FastClock()) as server:
        assert await use(server, "form") == "five"


async def test_a_server_that_refuses_to_begin_says_nothing_to_the_model() -> None:
    async with one(hostile("--refuse"), FastClock()) as server:
        why = await _down(server)

    assert why == "The server 'fake' is down: it answered with MCPError."


async def test_a_server_elsewhere_is_asked_through_the_environments_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with ProxyServer().running() as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        proxy.refuses = True
        async with one({"url": "http://mcp.test/mcp"}, FastClock()) as server:
            with pytest.raises(ToolFailed):
                await server.tools()

    assert set(proxy.seen) == {"http://mcp.test/mcp"}


async def test_a_call_after_a_sleep_goes_over_a_fresh_connection() -> None:
    """On the one that was kept nobody would know whether the tool had run."""
    clock = FastClock()
    port = free_port()
    async with (
        over_http(port),
        Road(port).running() as road,
        one({"url": f"{road.base_url}/mcp"}, clock) as server,
    ):
        await reached(server, clock)
        assert await use(server, "echo", text="one") == "one"
        road.freeze()
        clock.sleep_through(3600)
        assert await use(server, "echo", text="two") == "two"
