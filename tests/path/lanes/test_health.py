"""How a running bot is, asked over its socket and told to systemd. Issue 14 ("Events and life")."""

from __future__ import annotations

import asyncio
import json
import shutil
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from aouo.app.status import _UNCLAIMED_S, _UNHEARD_S, reasons
from aouo.app.wiring import App
from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound, Person, Text
from aouo.facts.ports import stamp
from aouo.flow.chores.indexing import Titles
from aouo.plumbing.client import answers as asked
from aouo.plumbing.systemd import Systemd
from aouo.store import jobs
from aouo.telegram.api import TelegramApi
from tests.fakes.clock import FastClock
from tests.fakes.road import Road
from tests.path.looking import eventually, settled
from tests.path.world import ADA, WAIT_S, World
from tests.plumbing.test_systemd import manager


@pytest.mark.parametrize(
    ("unheard_s", "listens", "problem", "unclaimed_s", "why"),
    [
        (10.0, True, "", 0.0, []),
        (None, True, "", 0.0, []),
        (_UNHEARD_S + 1, True, "no route", 0.0, ["Telegram has not answered for 121 s: no route"]),
        (1.0, False, "", 0.0, ["The task that asks Telegram hangs."]),
        (
            *(1.0, True, "", _UNCLAIMED_S + 1),
            ["A message waits for 61 s, and nobody is at work on it."],
        ),
    ],
)
def test_what_is_no_health(
    unheard_s: float | None, listens: bool, problem: str, unclaimed_s: float, why: list[str]
) -> None:
    found = reasons(unheard_s, listens=listens, problem=problem, unclaimed_s=unclaimed_s)

    assert found == why


async def health(world: World) -> dict[str, Any]:
    return (await anext(asked(world.home, "health")))["health"]


async def test_a_bot_at_rest_is_well(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("hello")
        await settled(bot)
        told = await health(world)

    assert told.pop("last_poll_s") < 60
    assert told.pop("since")
    assert told == {
        "ok": True,
        "reasons": [],
        "jobs": {"ready": 0, "running": 0, "parked": 0},
        "oldest_waiting_s": 0.0,
        "outbox": {"queued": 0, "oldest_s": 0.0, "unknown": 0, "refused": 0},
        "lanes": 0,
        "failed_parts": {},
    }


async def test_what_waits_behind_a_long_turn_is_counted_and_is_no_illness(world: World) -> None:
    clock = world.clock = FastClock()
    world.model.stall(after_chunks=2)
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await world.model.stalled.wait()
        await bot.people.say(ADA, ADA, "and this")
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE state = 'ready'"))
        clock.jump(_UNCLAIMED_S + 20)
        told = await health(world)
        world.model.release.set()
        await settled(bot)

    assert (told["jobs"]["running"], told["jobs"]["ready"], told["lanes"]) == (1, 1, 1)
    assert told["oldest_waiting_s"] >= _UNCLAIMED_S + 20
    assert told["ok"]


async def unheard(app: App) -> None:
    """Store a job without telling the lanes."""
    address = ConversationAddress("cli", "local")
    inbound = Inbound(address, Person("owner"), Text("hello"), origin="cli")
    now = stamp(app.shared.clock)
    await app.shared.database.transact(lambda tx: jobs.add(tx, address.lane, inbound, now))


async def test_a_message_that_nobody_works_on_is_an_illness(world: World) -> None:
    clock = world.clock = FastClock(speed=1.0)
    async with world.running() as bot:
        await unheard(bot.app)
        clock.jump(_UNCLAIMED_S + 5)
        told = await health(world)

    assert not told["ok"]
    assert "nobody is at work on it" in told["reasons"][0]


async def test_a_message_that_may_not_have_arrived_is_counted(world: World) -> None:
    world.config = {"telegram": {"streaming": "off"}}
    async with world.running() as bot:
        await bot.people.fault("drop_after", method="sendMessage", chat=ADA)
        await bot.people.say(ADA, ADA, "hello")
        await bot.people.next_message(ADA, contains="may not have arrived")
        await settled(bot)
        told = await health(world)

    assert told["outbox"]["unknown"] == 1
    assert told["ok"]


async def http(world: World, request: str) -> tuple[int, dict[str, Any]]:
    reader, writer = await asyncio.open_unix_connection(str(world.home.control_socket))
    writer.write(request.encode())
    async with asyncio.timeout(WAIT_S):
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return int(head.split()[1]), json.loads(body) if body else {}


async def test_healthz_is_a_page_of_http_on_the_same_socket(world: World) -> None:
    clock = world.clock = FastClock()
    async with world.running() as bot:
        await bot.ask("hello")
        ok = await http(world, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head = await http(world, "HEAD /healthz HTTP/1.0\r\n\r\n")
        missing = await http(world, "GET /secret HTTP/1.1\r\n\r\n")
        written = await http(
            world, 'POST /healthz HTTP/1.1\r\nContent-Length: 15\r\n\r\n{"verb":"stop"}\n'
        )
        await unheard(bot.app)
        clock.jump(_UNCLAIMED_S + 5)
        ill = await http(world, "GET /healthz HTTP/1.1\r\n\r\n")
        still_runs = not bot.runtime.ended.is_set()

    assert (ok[0], ok[1]["ok"]) == (200, True)
    assert head == (200, {})
    assert (missing[0], written[0]) == (404, 405)
    assert still_runs
    assert (ill[0], ill[1]["ok"]) == (503, False)


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl here")
async def test_curl_reads_it(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("hello")
        process = await asyncio.create_subprocess_exec(
            *("curl", "-sf", "--unix-socket", str(world.home.control_socket)),
            "http://localhost/healthz",
            stdout=PIPE,
        )
        async with asyncio.timeout(WAIT_S):
            out, _ = await process.communicate()

    assert process.returncode == 0
    assert json.loads(out)["ok"] is True


async def test_a_telegram_that_does_not_answer_is_an_illness_but_we_live(
    world: World, road: Road
) -> None:
    """To start again would not bring the network back."""
    clock = world.clock
    assert isinstance(clock, FastClock)
    async with world.running() as bot:
        await bot.ask("hello")
        road.down()
        state = bot.app.shared.telegram
        assert state

        async def failing() -> bool:
            return bool(state.state["problem"])

        await eventually(failing)
        clock.jump(_UNHEARD_S)
        told = await health(world)
        lives = bot.app.health.listens
        await road.up()

    assert not told["ok"]
    assert told["reasons"][0].startswith("Telegram has not answered for ")
    assert lives


async def hang(*args: object, **named: object) -> Any:
    del args, named
    await asyncio.Event().wait()


async def test_a_poll_that_hangs_gives_no_sign_of_life(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps no limit of its own, so the watchdog has to end the process."""
    clock = world.clock = FastClock()
    hung = asyncio.Event()

    async def hangs(*args: object, **named: object) -> Any:
        hung.set()
        await hang(*args, **named)

    async with world.running() as bot:
        await bot.ask("hello")
        before = bot.app.health.listens
        with monkeypatch.context() as patch:
            patch.setattr(TelegramApi, "call", hangs)
            await bot.people.say(ADA, ADA, "one more, so that the next poll begins")
            await hung.wait()
            await settled(bot)
            clock.jump(200)
            told, after = await health(world), bot.app.health.listens

    assert (before, after) == (True, False)
    assert "The task that asks Telegram hangs." in told["reasons"]


async def test_systemd_is_told_of_the_whole_life(world: World, tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with manager(address) as heard:
        environ = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "200000"}
        async with world.running(Systemd(environ)) as bot:
            heard.setblocking(False)
            async with asyncio.timeout(WAIT_S):
                ready = await asyncio.get_running_loop().sock_recv(heard, 4096)
                while await asyncio.get_running_loop().sock_recv(heard, 4096) != b"WATCHDOG=1":
                    pass
            assert bot.app.shared.telegram
            polled = bot.app.shared.telegram.answered_s
        last = list[bytes]()
        while not last or not last[-1].startswith(b"STOPPING=1"):
            last.append(heard.recv(4096))

    assert ready == b"READY=1\nSTATUS=well"
    assert polled is not None


async def test_a_part_that_fails_is_in_the_line_for_systemd(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks(self: Titles) -> None:
        del self
        raise ZeroDivisionError

    monkeypatch.setattr(Titles, "run", breaks)
    with capture_logs():
        async with world.running() as bot:
            await bot.ask("hello")

            async def named() -> bool:
                return await bot.app.health.line() == "without titles"

            await eventually(named)
