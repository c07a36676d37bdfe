"""A machine that sleeps: what was open dies without a word, and what comes after is on time.

Source: issue 12, 10; Findings 27 and 28.
"""

from __future__ import annotations

import asyncio
import socket

import aiohttp
import pytest
from structlog.testing import capture_logs
from telegram.request import RequestData

from aouo.plumbing.clock import _GAP_S, _LOOK_EVERY_S, watch
from aouo.plumbing.web.session import session_through
from aouo.telegram.http import AiohttpRequest, NoAnswer, NotWritten
from tests.fakes.clock import FastClock
from tests.fakes.road import Road
from tests.path.looking import answers, settled
from tests.path.world import ADA, WAIT_S, World

NIGHT_S = 8 * 3600.0


async def test_after_a_night_the_next_message_is_answered_at_once(world: World, road: Road) -> None:
    """Neither the poll that was waiting nor a connection that was kept is trusted."""
    clock = world.clock
    assert isinstance(clock, FastClock)
    async with world.running() as bot:
        assert (await bot.ask("Good night")).text == "Good night"
        road.freeze()
        clock.sleep_through(NIGHT_S)
        assert (await bot.ask("Good morning")).text == "Good morning"
        unknown = await bot.rows("SELECT id FROM deliveries WHERE state = 'unknown'")

    assert unknown == []


@pytest.mark.parametrize("set_s", [-NIGHT_S, NIGHT_S])
async def test_a_wall_clock_that_is_set_changes_nothing(
    world: World, road: Road, set_s: float
) -> None:
    clock = world.clock
    assert isinstance(clock, FastClock)
    async with world.running() as bot:
        await bot.ask("one")
        clock.sleep_through(set_s)
        assert (await bot.ask("two")).text == "two"
        unknown = await bot.rows("SELECT id FROM deliveries WHERE state = 'unknown'")

    assert unknown == []


@pytest.mark.parametrize(
    ("slept_s", "event"),
    [
        (NIGHT_S, {"event": "woken", "after_s": NIGHT_S}),
        (-NIGHT_S, {"event": "clock_set_back", "by_s": NIGHT_S}),
    ],
)
async def test_the_log_tells_a_sleep_from_a_clock_that_was_set_back(
    slept_s: float, event: dict[str, object]
) -> None:
    """Only after a sleep is anything given up."""
    clock = FastClock(speed=1000.0)
    woken = asyncio.Event()
    with capture_logs() as logs:
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(watch(clock, woken.set))
            await clock.sleep(_GAP_S)
            clock.sleep_through(slept_s)
            async with asyncio.timeout(WAIT_S):
                while not logs:
                    await clock.sleep(_LOOK_EVERY_S)
            watching.cancel()

    assert logs == [{"log_level": "info", **event}]
    assert woken.is_set() == (slept_s > 0)


async def ask(session: aiohttp.ClientSession, road: Road, world: World) -> int:
    """One call as a send makes it, which waits for its answer for a moment only."""
    url = f"{road.base_url}/bot{world.emulator.token}/getMe"
    data = RequestData([])
    return (await AiohttpRequest(session).do_request(url, "POST", data, read_timeout=1.0))[0]


async def test_the_first_send_after_a_sleep_goes_over_a_fresh_connection(
    world: World, road: Road
) -> None:
    """On the old one nobody would know whether it arrived, and the person would be told so."""
    clock = FastClock()
    async with session_through(clock=clock) as session:
        await ask(session, road, world)
        road.freeze()
        clock.sleep_through(_GAP_S + 1)

        assert await ask(session, road, world) == 200
        assert await ask(session, road, world) == 200

    assert road.opened == 2


async def test_without_a_sleep_what_got_no_answer_may_have_arrived(
    world: World, road: Road
) -> None:
    """A connection that was used a moment ago: the request may have been read."""
    async with session_through(clock=FastClock()) as session:
        await ask(session, road, world)
        road.freeze()

        with pytest.raises(NoAnswer):
            await ask(session, road, world)


async def test_an_answer_that_a_sleep_cut_off_is_found_out_by_the_system(world: World) -> None:
    """It asks on the line now and then whether somebody is there, so that a model that was writing
    is given up after a minute, and not after all the patience that a model gets."""
    world.model.stall(after_chunks=1)
    body = {"model": "any", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
    url = f"{world.model.base_url}/chat/completions"
    async with session_through() as session, session.post(url, json=body) as answer:
        assert answer.connection
        assert answer.connection.transport
        line = answer.connection.transport.get_extra_info("socket")

        assert line.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


@pytest.mark.parametrize("proxy", [True, False], ids=["its proxy", "its TLS"])
async def test_a_road_that_hangs_before_the_request_is_written_leaves_no_doubt(
    monkeypatch: pytest.MonkeyPatch, proxy: bool
) -> None:
    """It surely did not arrive, so it is sent later and nobody is told that it may have."""
    monkeypatch.setattr("aouo.telegram.http._CONNECT_S", 0.2)
    over = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await over.wait()
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    where = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    url = "https://service.test/bot1:a/sendMessage" if proxy else f"https://{where}/bot1:a/send"
    try:
        async with session_through(f"http://{where}" if proxy else "", environ={}) as session:
            with pytest.raises(NotWritten):
                await AiohttpRequest(session).do_request(
                    url, "POST", RequestData([]), read_timeout=5.0
                )
    finally:
        over.set()
        server.close()


@pytest.mark.parametrize("kind", ["http", "socks5"])
@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 ", b"What?\r\n\r\n", b"\x05"])
async def test_a_proxy_that_breaks_off_leaves_no_doubt_either(kind: str, said: bytes) -> None:
    """Before its tunnel stands nothing of the request is written."""

    async def leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(said)
        writer.transport.abort() if not said else writer.close()

    server = await asyncio.start_server(leave, "127.0.0.1", 0)
    where = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        async with session_through(f"{kind}://{where}", environ={}) as session:
            with pytest.raises(NotWritten, match=f"the proxy {where} cannot be used"):
                await AiohttpRequest(session).do_request(
                    "https://service.test/bot1:a/sendMessage", "POST", RequestData([])
                )
    finally:
        server.close()


@pytest.mark.parametrize("hour_s", [3600.0, -3600.0], ids=["an hour on", "an hour back"])
@pytest.mark.parametrize("at", ["model", "send", "poll"])
async def test_a_clock_that_jumps_in_the_middle_of_an_answer_loses_and_doubles_nothing(
    world: World, road: Road, at: str, hour_s: float
) -> None:
    """Deadlines are counted by a clock that does not jump, or are renewed."""
    clock = world.clock
    assert isinstance(clock, FastClock)
    gate = {"model": "", "send": "sendMessage", "poll": "getUpdates"}[at]
    if at == "model":
        world.model.stall(after_chunks=1, text="one two three")
    async with world.running() as bot:
        if gate:
            await bot.people.fault("slow", method=gate, seconds=0.5)
        await bot.people.say(ADA, ADA, "go")
        if at == "model":
            async with asyncio.timeout(WAIT_S):
                await world.model.stalled.wait()
        clock.sleep_through(hour_s)
        await clock.sleep(3 * _LOOK_EVERY_S)
        world.model.release.set()
        await settled(bot)
        again = await bot.ask("next")
        unknown = await bot.rows("SELECT id FROM deliveries WHERE state = 'unknown'")

    assert (unknown, again.text) == ([], "next")
    assert await answers(world) == ["one two three" if at == "model" else "go", "next"]
