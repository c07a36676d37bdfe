"""The local page says what is used and what it costs, to the owner and to nobody else."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from aiohttp import ClientSession
from click.testing import CliRunner

from aouo.cli.main import aouo
from aouo.dashboard import listening
from aouo.dashboard.access import Access
from aouo.dashboard.listening import page
from tests.path.dashboard.looking import dashboard
from tests.path.looking import settled
from tests.path.world import World

PAGE = Path(listening.__file__).with_name("page")


async def test_usage_is_the_same_on_the_page_as_in_the_terminal(world: World) -> None:
    async with dashboard(world) as shown:
        await shown.bot.ask("hello")
        await settled(shown.bot)
        status, facts = await shown.get("/api/usage?days=3650")

    runner = CliRunner(env={"AOUO_HOME": str(world.home.path)})
    told = json.loads(runner.invoke(aouo, ["usage", "--days", "3650", "--json"]).stdout)
    assert (status, facts) == (200, told)
    assert facts["totals"]["calls"] == 1


async def test_the_link_leaves_a_cookie_in_the_place_of_the_token(world: World) -> None:
    async with dashboard(world) as shown:
        async with shown.client.get(shown.link) as opened:
            html, address = await opened.text(), str(opened.url)
        async with shown.client.get(shown.link.with_path("/api/usage").with_query({})) as usage:
            status = usage.status
        (cookie,) = shown.client.cookie_jar

    assert "<title>aouo</title>" in html
    assert "token" not in address
    assert status == 200
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Strict")
    assert shown.token not in cookie.value


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"X-Aouo-Token": "wrong"}, 401),
        ({"Authorization": "Basic abc"}, 401),
        ({"Host": "evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
async def test_nobody_else_gets_in(world: World, headers: dict[str, str], status: int) -> None:
    async with dashboard(world) as shown, ClientSession() as stranger:
        for method in ("GET", "POST", "DELETE", "OPTIONS"):
            address = shown.link.with_query({})
            async with stranger.request(method, address, headers=headers) as answer:
                told = await answer.json()

            assert answer.status == status, method
            assert shown.token not in json.dumps(told)


async def test_after_twenty_wrong_tokens_a_minute_has_to_pass(world: World) -> None:
    async with dashboard(world) as shown:
        wrong = [(await shown.get("/api/status", **{"X-Aouo-Token": "no"}))[0] for _ in range(21)]

    assert wrong == [*[401] * 20, 429]


async def test_whether_it_is_well_needs_no_token_and_holds_no_connection(world: World) -> None:
    async with (
        dashboard(world) as shown,
        ClientSession() as stranger,
        stranger.get(shown.link.with_path("/healthz").with_query({})) as answer,
    ):
        facts = await answer.json()

    assert (answer.status, facts["ok"]) == (200, True)
    assert answer.headers["Connection"] == "close"


@pytest.mark.parametrize("days", ["0", "-1", "3651", "x", "1e3", "٣", ""])
async def test_a_number_that_is_none_gets_a_sentence(world: World, days: str) -> None:
    async with dashboard(world) as shown:
        status, told = await shown.get(f"/api/usage?days={days}")

    assert (status, told) == (400, {"error": "days has to be a number from 1 to 3650."})


async def test_a_port_that_is_taken_leaves_the_bot_without_its_page(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        world.config = {"dashboard": {"port": taken.getsockname()[1]}}
        async with world.running(page=page) as bot:
            answer = await bot.ask("hello")
            assert bot.runtime.page
            state = bot.runtime.page.state

    assert answer.text
    assert state.startswith("off for now: ")
    assert "in use" in state


async def test_the_token_is_private_and_goes_with_the_process(world: World) -> None:
    async with dashboard(world) as shown:
        before = world.home.dashboard_token.stat().st_mode & 0o777
        described = await shown.get("/api/openapi.json")

    assert before == 0o600
    assert not world.home.dashboard_token.exists()
    assert {"/healthz", "/api/status", "/api/usage"} <= set(described[1]["paths"])


async def test_an_open_page_hears_that_something_changed(world: World) -> None:
    async with dashboard(world) as shown:
        address = shown.link.with_path("/api/live")
        async with shown.client.get(address, headers={"X-Aouo-Token": shown.token}) as stream:
            first = await stream.content.readuntil(b"\n\n")
            await shown.bot.ask("hello")
            then = await stream.content.readuntil(b"\n\n")

    assert first == then == b"event: changed\ndata: {}\n\n"


async def test_a_cookie_outlives_the_process_only_if_the_token_does(world: World) -> None:
    """And nobody makes one from a token that is easily guessed."""
    tokens = {"short": True, "": False}
    entered = dict[str, bool]()
    for token in tokens:
        world.config = {"dashboard": {"token": token}}
        async with dashboard(world) as before:
            (await before.client.get(before.link)).close()
            (cookie,) = before.client.cookie_jar
            port = before.link.port or 0
        async with dashboard(world, port) as after:
            kept = {"Cookie": f"{cookie.key}={cookie.value}"}
            async with after.client.get(after.link.with_query({}), headers=kept) as answer:
                entered[token] = answer.status == 200
        made = int(cookie.value.partition(".")[0], 16)
        assert cookie.value != Access(token, "127.0.0.1").cookie(made)

    assert entered == tokens


async def test_the_page_comes_in_less_than_250_kb(world: World) -> None:
    async with dashboard(world) as shown:
        (await shown.client.get(shown.link)).close()
        sizes = dict[str, int]()
        for file in sorted(PAGE.rglob("*.*")):
            name = file.relative_to(PAGE).as_posix()
            async with shown.client.get(shown.link.with_path(f"/page/{name}")) as answer:
                sizes[name] = len(await answer.read()) if answer.status == 200 else 0

    assert 0 not in sizes.values()
    assert sum(sizes.values()) < 250_000
