"""getUpdates: what is confirmed is gone, what is not comes again, two pollers conflict."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest
from aiohttp import ClientSession
from hypothesis import given
from hypothesis import strategies as st

from aouo.emulator import ADA
from aouo.emulator.world import UpdateQueue
from tests.fakes.telegram import LocalTelegram

Ask: TypeAlias = Callable[..., Coroutine[Any, Any, dict[str, Any]]]


async def texts(ask: Ask, **params: Any) -> list[str]:
    updates = (await ask("getUpdates", **params))["result"]
    return [update["message"]["text"] for update in updates]


async def say(emu: LocalTelegram, *lines: str) -> None:
    for line in lines:
        await emu.client.say(ADA, ADA, line)


async def test_updates_come_again_until_an_offset_confirms_them(
    emu: LocalTelegram, ask: Ask
) -> None:
    await say(emu, "a", "b", "c")

    first = (await ask("getUpdates", limit=2))["result"]
    assert await texts(ask) == ["a", "b", "c"]
    assert await texts(ask, offset=first[-1]["update_id"] + 1) == ["c"]
    assert await texts(ask, offset=first[0]["update_id"]) == ["c"]


async def test_a_negative_offset_keeps_the_last_ones(emu: LocalTelegram, ask: Ask) -> None:
    await say(emu, "a", "b", "c")

    assert await texts(ask, offset=-1) == ["c"]
    assert await texts(ask) == ["c"]


async def test_an_offset_far_beyond_the_queue_is_ignored(emu: LocalTelegram, ask: Ask) -> None:
    await say(emu, "a")

    assert await texts(ask, offset=2_000_000_000) == ["a"]


async def test_allowed_updates_filter_on_arrival_and_stick(emu: LocalTelegram, ask: Ask) -> None:
    said = await emu.client.say(ADA, ADA, "a")
    await ask("getUpdates", allowed_updates=["edited_message"])
    await emu.client.edit(ADA, ADA, said.id, "b")
    await say(emu, "not wanted")

    kinds = [list(update)[1] for update in (await ask("getUpdates"))["result"]]
    assert kinds == ["message", "edited_message"]

    await ask("getUpdates", allowed_updates=[])
    await say(emu, "wanted again")
    assert (await ask("getUpdates"))["result"][-1]["message"]["text"] == "wanted again"


async def test_a_long_poll_is_answered_by_the_first_update(emu: LocalTelegram, ask: Ask) -> None:
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        poll = group.create_task(texts(ask, timeout=50))
        await say(emu, "at last")

    assert poll.result() == ["at last"]


async def test_of_two_pollers_the_older_one_is_terminated(emu: LocalTelegram, ask: Ask) -> None:
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        polls = [group.create_task(ask("getUpdates", timeout=50)) for _ in range(2)]
        done, [newer] = await asyncio.wait(polls, return_when=asyncio.FIRST_COMPLETED)
        await say(emu, "hello")
        [older] = done

    assert older.result() == {
        "ok": False,
        "error_code": 409,
        "description": "Conflict: terminated by other getUpdates request; "
        "make sure that only one bot instance is running",
    }
    assert newer.result()["result"][0]["message"]["text"] == "hello"


async def test_a_webhook_ends_an_open_poll(ask: Ask, emu: LocalTelegram) -> None:
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        poll = group.create_task(ask("getUpdates", timeout=50))
        await emu.client.until(lambda: emu.client.calls("getUpdates"))
        await ask("setWebhook", url="https://a.example/")

    assert poll.result()["error_code"] == 409


async def test_a_server_that_stops_answers_an_open_poll_with_a_restart(
    http: ClientSession,
) -> None:
    """Not with 409: nobody else polls."""
    async with asyncio.timeout(30), asyncio.TaskGroup() as group, LocalTelegram() as emu:
        poll = group.create_task(http.get(f"{emu.bot_url}/getUpdates?timeout=50"))
        await emu.client.until(lambda: emu.client.calls("getUpdates"))

    response = await poll
    assert (response.status, response.reason) == (500, "Internal Server Error")


async def test_polling_is_refused_while_a_webhook_is_set(ask: Ask) -> None:
    await ask("setWebhook", url="https://a.example/")

    refused = await ask("getUpdates")

    assert (refused["error_code"], refused["description"]) == (
        409,
        "Conflict: can't use getUpdates method while webhook is active; "
        "use deleteWebhook to delete the webhook first",
    )


@pytest.mark.parametrize("seconds", [0, None])
async def test_without_a_timeout_the_answer_is_at_once(ask: Ask, seconds: int | None) -> None:
    async with asyncio.timeout(30):
        assert await texts(ask, timeout=seconds) == []


@given(st.lists(st.sampled_from(["push", "confirm", "look"]), max_size=60))
def test_an_update_is_never_lost_and_never_returns(steps: list[str]) -> None:
    queue = UpdateQueue()
    pushed: list[int] = []
    confirmed = 0
    for step in steps:
        if step == "push":
            update_id = queue.push("message", {})
            assert update_id is not None
            pushed.append(update_id)
        elif step == "confirm" and confirmed < len(pushed):
            confirmed += 1
            queue.confirm(pushed[confirmed - 1] + 1)

        assert [update["update_id"] for update in queue.head(100)] == pushed[confirmed:][:100]
    assert pushed == sorted(set(pushed))
