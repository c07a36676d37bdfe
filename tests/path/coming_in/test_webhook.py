"""`telegram.transport: webhook`: Telegram brings the updates, and all else is as with polling."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import pytest
from structlog.testing import capture_logs

from aouo.facts.errors import SetupError
from aouo.telegram.webhook import _CONNECTIONS, _MAX_BODY_BYTES, _REQUEST_S, _SECRET_HEADER
from tests.fakes.clock import FastClock
from tests.fakes.road import Road
from tests.path.looking import answers, eventually, said, settled
from tests.path.world import ADA, WAIT_S, Running, World

URL = "https://bot.example/telegram"
SECRET = "a-long-random-text"
HOOK = {"url": URL, "listen": "127.0.0.1:0", "secret_token": SECRET}


@asynccontextmanager
async def listening(world: World) -> AsyncGenerator[Running]:
    """The runtime behind a webhook, which the owner's proxy leads to."""
    world.config = {"telegram": {"transport": "webhook", "webhook": HOOK}}
    world.emulator.webhook.first_wait_s = 0.01
    async with world.running() as bot:
        await eventually(lambda: _address(bot))
        world.emulator.webhook.tls_ends_at = f"http://{await _address(bot)}"
        yield bot


async def _address(bot: Running) -> str:
    assert bot.app.shared.telegram
    return str(bot.app.shared.telegram.state["listen"])


async def _post(bot: Running, body: bytes | str, **headers: str) -> int:
    url = f"http://{await _address(bot)}/telegram"
    sent = io.BytesIO(body.encode() if isinstance(body, str) else body)
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=sent, headers=headers) as answer,
    ):
        return answer.status


def _update(update_id: int, text: str) -> str:
    user = {"id": ADA, "is_bot": False, "first_name": "Ada"}
    chat = {"id": ADA, "type": "private"}
    message = {"message_id": 900, "date": 1, "chat": chat, "from": user, "text": text}
    return json.dumps({"update_id": update_id, "message": message})


async def test_a_message_that_telegram_brings_is_answered_and_nobody_polls(world: World) -> None:
    async with listening(world) as bot:
        answer = await bot.ask("Hello")
        (call,) = await world.people.calls("setWebhook")

        assert answer.text == "Hello"
        assert await world.people.calls("getUpdates") == []
        assert call["params"]["url"] == URL
        assert call["params"]["secret_token"] == SECRET
        assert call["params"]["drop_pending_updates"] is False
        assert "edited_message" in call["params"]["allowed_updates"]


async def test_the_webhook_is_there_while_the_runtime_runs_and_not_longer(world: World) -> None:
    """What is written meanwhile waits at Telegram and is brought to the next process."""
    async with listening(world) as bot:
        await bot.ask("One")
        assert world.emulator.world.webhook
    assert not world.emulator.world.webhook
    await world.people.say(ADA, ADA, "Two")

    async with listening(world):
        await said(world, "Two")

    assert await answers(world) == ["One", "Two"]


@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="only Linux tells")
async def test_nothing_is_listened_at_but_the_configured_address(world: World) -> None:
    """Source: reference C7, 16. The emulator and the model service listen there, too."""
    async with listening(world) as bot:
        port = int((await _address(bot)).rpartition(":")[2])
        found = _listening()

    assert ("127.0.0.1", port) in found
    assert {host for host, _ in found} == {"127.0.0.1"}


def _listening() -> set[tuple[str, int]]:
    """The addresses that this process accepts connections at."""
    links = [file for file in Path("/proc/self/fd").iterdir() if file.is_symlink()]
    held = {str(file.readlink()) for file in links}
    found: set[tuple[str, int]] = set()
    for name in ("tcp", "tcp6"):
        for line in Path("/proc/self/net", name).read_text().splitlines()[1:]:
            fields = line.split()
            host, port = fields[1].split(":")
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in held:
                raw = bytes.fromhex(host)
                shown = ".".join(map(str, reversed(raw))) if len(raw) == 4 else host
                found.add((shown, int(port, 16)))
    return found


@pytest.mark.parametrize(
    "headers", [{}, {_SECRET_HEADER: "another"}, {_SECRET_HEADER: ""}, {_SECRET_HEADER: "ä"}]
)
async def test_without_the_secret_nothing_is_read(world: World, headers: dict[str, str]) -> None:
    async with listening(world) as bot:
        assert await _post(bot, _update(1, "Let me in"), **headers) == 403
        assert await bot.rows("SELECT * FROM updates") == []


NO_UPDATES: list[tuple[bytes | str, int]] = [
    ("{", 400),
    ("[]", 400),
    ('{"update_id": "1"}', 400),
    ('{"update_id": true}', 400),
    (b"\xff\xfe", 400),
    ("[" * 100_000, 400),
    ('{"update_id": 5, "message": ' + "[" * 100_000 + "]" * 100_000 + "}", 400),
    ('{"update_id": 9223372036854775807}', 400),
    ('{"update_id": 6, "message": ' + "[" * 300 + "]" * 300 + "}", 200),
    ('{"update_id": 5, "never_heard_of": {}}', 200),
    (" " * (_MAX_BODY_BYTES + 1), 413),
]


async def test_what_is_no_update_is_not_taken(world: World) -> None:
    async with listening(world) as bot:
        for number, (body, status) in enumerate(NO_UPDATES):
            assert await _post(bot, body, **{_SECRET_HEADER: SECRET}) == status, body[:80]
            assert (await bot.ask(f"Still there {number}?")).text == f"Still there {number}?"


async def test_refused_requests_are_one_line_a_minute_with_their_count(world: World) -> None:
    """Whoever finds the port must not fill the log."""
    world.clock = clock = FastClock()
    async with listening(world) as bot:
        with capture_logs() as logs:
            for _ in range(30):
                assert await _post(bot, _update(1, "Let me in")) == 403
            for _ in range(3):
                assert await _post(bot, "{", **{_SECRET_HEADER: SECRET}) == 400
            looked = len(await world.people.calls("getWebhookInfo"))
            while len(await world.people.calls("getWebhookInfo")) < looked + 2:
                clock.jump(61)

    told = [line for line in logs if line["event"] == "webhook_refused"]
    assert [(one["count"], one["wrong_secret"], one["not_json"]) for one in told] == [(33, 30, 3)]


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"POST /telegram HTTP/1.1\r\nHost: bot.example\r\nX-",
        b"POST /telegram HTTP/1.1\r\nHost: bot.example\r\n"
        + f"{_SECRET_HEADER}: {SECRET}\r\nContent-Length: 1000\r\n\r\n".encode()
        + b'{"update_id"',
    ],
)
async def test_a_request_that_only_takes_its_time_is_cut_off(world: World, begun: bytes) -> None:
    """Head or body: each connection so held is one that Telegram does not get."""
    world.clock = clock = FastClock()
    async with listening(world) as bot:
        host, _, port = (await _address(bot)).partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(begun)
        await writer.drain()
        clock.jump(_REQUEST_S + 1)
        answer = await bot.ask("Still there?")
        async with asyncio.timeout(WAIT_S):
            with suppress(ConnectionError):
                assert await reader.read() == b""
        writer.close()

    assert answer.text == "Still there?"


async def test_more_connections_than_anybody_needs_are_not_taken(world: World) -> None:
    """Held open they are cut off in time, and Telegram gets in again."""
    world.clock = clock = FastClock()
    async with listening(world) as bot:
        host, _, port = (await _address(bot)).partition(":")
        held = [await asyncio.open_connection(host, int(port)) for _ in range(_CONNECTIONS + 1)]
        async with asyncio.timeout(WAIT_S):
            with suppress(ConnectionError):
                assert await held[-1][0].read() == b""
        clock.jump(_REQUEST_S + 1)
        answer = await bot.ask("Still there?")
        for _, writer in held:
            writer.close()

    assert answer.text == "Still there?"


async def test_an_update_that_comes_twice_is_answered_once(world: World) -> None:
    """Telegram brings an update again when our 200 got lost."""
    async with listening(world) as bot:
        await world.people.fault("duplicate_update")
        await bot.ask("Once")
        await settled(bot)

        assert world.emulator.webhook.statuses == [200, 200]
        assert await answers(world) == ["Once"]


async def test_an_update_is_stored_before_telegram_may_forget_it(world: World) -> None:
    async with listening(world) as bot:
        status = await _post(bot, _update(77, "Kept"), **{_SECRET_HEADER: SECRET})
        rows = await bot.rows("SELECT body FROM updates WHERE update_id = 77")

        assert status == 200
        assert "Kept" in rows[0]["body"]


async def test_what_could_not_be_brought_is_brought_again(world: World) -> None:
    world.emulator.webhook.first_wait_s = 0.01
    async with listening(world) as bot:
        good, world.emulator.webhook.tls_ends_at = (
            world.emulator.webhook.tls_ends_at,
            "http://127.0.0.1:9",
        )
        await world.people.say(ADA, ADA, "Are you there?")
        await eventually(lambda: _tried(world))
        world.emulator.webhook.tls_ends_at = good
        await said(world, "Are you there?")
        await settled(bot)

        assert await answers(world) == ["Are you there?"]


async def _tried(world: World) -> bool:
    await asyncio.sleep(0.001)  # the network's, not ours: each attempt is a refused connection
    return len(world.emulator.webhook.statuses) >= 2


async def test_the_cursor_of_polling_is_not_moved_past_what_was_not_brought(world: World) -> None:
    """Webhook deliveries of several chats overtake each other; polling forgets by one number."""
    async with listening(world) as bot:
        await bot.ask("Hello")

        assert await bot.rows("SELECT next_update_id FROM cursors WHERE next_update_id > 0") == []


async def test_polling_takes_over_from_a_webhook_without_losing_or_repeating(world: World) -> None:
    async with listening(world) as bot:
        await bot.ask("One")
    await world.people.say(ADA, ADA, "Two")
    world.config = {}
    async with world.running() as bot:
        await said(world, "Two")
        await settled(bot)

    assert await answers(world) == ["One", "Two"]


@pytest.mark.parametrize("url", ["https://nowhere.invalid/hook", "https://bot.example:4443/hook"])
async def test_an_address_that_telegram_refuses_ends_the_start_with_what_to_edit(
    world: World, url: str
) -> None:
    hook = {**HOOK, "url": url}
    world.config = {"telegram": {"transport": "webhook", "webhook": hook}}
    with pytest.raises(SetupError) as raised:
        async with asyncio.timeout(WAIT_S), world.running() as bot:
            await bot.runtime.ended.wait()

    assert url in raised.value.problem
    assert "bad webhook" in raised.value.problem
    assert "telegram.webhook.url" in raised.value.fix
    assert raised.value.exit_code == 3


async def test_a_taken_port_ends_the_start_with_what_to_edit(world: World) -> None:
    taken = world.emulator.base_url.removeprefix("http://")
    world.config = {"telegram": {"transport": "webhook", "webhook": {**HOOK, "listen": taken}}}
    with pytest.raises(SetupError) as raised:
        async with asyncio.timeout(WAIT_S), world.running() as bot:
            await bot.runtime.ended.wait()

    assert "telegram.webhook.listen" in raised.value.fix


async def test_trouble_that_passes_is_waited_out(world: World) -> None:
    world.clock = FastClock(speed=100)
    await world.people.fault("status", method="setWebhook", status=502)
    await world.people.fault("status", method="setWebhook", status=429, retry_after=1, nth=2)
    await world.people.fault("drop_before", method="setWebhook", nth=3)
    async with listening(world) as bot:
        answer = await bot.ask("Hello")

        assert answer.text == "Hello"
        assert len(await world.people.calls("setWebhook")) == 4


async def test_status_says_what_telegram_makes_of_us(world: World) -> None:
    clock = world.clock = FastClock(speed=1)
    async with listening(world) as bot:
        world.emulator.webhook.first_wait_s = 600.0
        good, world.emulator.webhook.tls_ends_at = (
            world.emulator.webhook.tls_ends_at,
            "http://127.0.0.1:9",
        )
        await world.people.say(ADA, ADA, "Is the way open?")
        await eventually(lambda: _tried(world))
        clock.jump(61)
        state = await eventually(lambda: _failing(bot))
        assert state
        world.emulator.webhook.tls_ends_at = good

        assert state["state"] == "listening"
        assert state["url"] == URL
        assert state["pending"] == 1
        assert state["last_error"] == "Connection refused"


async def test_a_telegram_that_is_not_reached_is_told_of_until_it_is_again(world: World) -> None:
    """The hour is said, as with polling."""
    clock = world.clock = FastClock(speed=1)
    config = {"transport": "webhook", "webhook": HOOK}
    async with Road(int(world.emulator.base_url.rpartition(":")[2])).running() as road:
        world.config = {"telegram": {**config, "api_base_url": road.base_url}}
        async with world.running() as bot:
            await eventually(lambda: _in_state(bot, "listening"))
            road.down()
            clock.jump(61)
            lost = await eventually(lambda: _in_state(bot, "failing"))
            await road.up()
            clock.jump(61)
            found = await eventually(lambda: _in_state(bot, "listening"))

    assert lost["problem"]
    assert lost["failing_since"] > "2026"
    assert (found["problem"], found["failing_since"]) == ("", "")


async def _in_state(bot: Running, wanted: str) -> dict[str, str]:
    assert bot.app.shared.telegram
    await bot.people.calls()
    state = bot.app.shared.telegram.state
    return {key: str(value) for key, value in state.items()} if state["state"] == wanted else {}


async def _failing(bot: Running) -> dict[str, object] | None:
    assert bot.app.shared.telegram
    await asyncio.sleep(0)
    state = bot.app.shared.telegram.state
    return state if state["last_error"] else None


async def test_a_webhook_that_somebody_unsets_is_set_again(world: World) -> None:
    clock = world.clock = FastClock(speed=1)
    async with listening(world) as bot:
        await bot.ask("Hello")
        world.emulator.world.webhook = {}
        clock.jump(61)

        assert (await bot.ask("Still there?")).text == "Still there?"


async def test_who_keeps_losing_the_webhook_to_another_process_ends(world: World) -> None:
    clock = world.clock = FastClock(speed=1)
    with pytest.raises(SetupError) as raised:
        await _be_robbed(world, clock)

    assert raised.value.exit_code == 4


async def test_a_token_that_is_revoked_ends_the_process_with_what_to_edit(world: World) -> None:
    """Exit 3, as when polling: nothing comes any more, and nobody would know why."""
    clock = world.clock = FastClock(speed=1)
    with pytest.raises(SetupError) as raised:
        await _be_revoked(world, clock)

    assert (raised.value.exit_code, "bot_token" in raised.value.fix) == (3, True)


async def _be_revoked(world: World, clock: FastClock) -> None:
    async with listening(world) as bot:
        await bot.ask("Hello")
        await world.people.fault(
            "status", method="getWebhookInfo", status=401, description="Unauthorized"
        )
        clock.jump(61)
        async with asyncio.timeout(WAIT_S):
            await bot.runtime.ended.wait()


async def _be_robbed(world: World, clock: FastClock) -> None:
    async with listening(world) as bot:
        for times in range(1, 4):
            await eventually(lambda times=times: _set_and_seen(world, times))
            world.emulator.world.webhook = {}
            clock.jump(61)
        async with asyncio.timeout(WAIT_S):
            await bot.runtime.ended.wait()


async def _set_and_seen(world: World, times: int) -> bool:
    done = [call["status"] == 200 for call in await world.people.calls("setWebhook")]
    looked = [call["status"] == 200 for call in await world.people.calls("getWebhookInfo")]
    return sum(done) >= times and sum(looked) >= times
