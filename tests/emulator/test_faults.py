"""Faults on purpose: what a bot must survive, on the call the test names."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest
from aiohttp import ClientConnectionError, ClientSession

from aouo.emulator import ADA, BEN, ActRefused
from tests.fakes.telegram import LocalTelegram

Ask: TypeAlias = Callable[..., Coroutine[Any, Any, dict[str, Any]]]


async def said(emu: LocalTelegram, chat: int = ADA) -> list[str]:
    return [message.text for message in await emu.client.messages(chat)]


async def test_a_call_dropped_before_has_no_effect(emu: LocalTelegram, ask: Ask) -> None:
    await emu.client.fault("drop_before", method="sendMessage")

    with pytest.raises(ClientConnectionError):
        await ask("sendMessage", chat_id=ADA, text="a")

    assert await said(emu) == []
    assert [call["fault"] for call in await emu.client.calls()] == ["drop_before"]


async def test_a_call_dropped_after_has_its_effect(emu: LocalTelegram, ask: Ask) -> None:
    await emu.client.fault("drop_after", method="sendMessage")

    with pytest.raises(ClientConnectionError):
        await ask("sendMessage", chat_id=ADA, text="a")

    assert await said(emu) == ["a"]
    [call] = await emu.client.calls("sendMessage")
    assert (call["status"], call["params"]) == (None, {"chat_id": ADA, "text": "a"})


async def test_a_fault_waits_for_its_method_chat_and_turn(emu: LocalTelegram, ask: Ask) -> None:
    await emu.client.fault(
        "status", method="sendMessage", chat=BEN, nth=2, times=2, status=429, retry_after=30
    )
    await ask("sendMessage", chat_id=ADA, text="a")
    await ask("getMe")

    answers = [await ask("sendMessage", chat_id=BEN, text=str(at)) for at in range(4)]

    assert [answer.get("parameters") for answer in answers] == [
        None,
        {"retry_after": 30},
        {"retry_after": 30},
        None,
    ]
    assert await said(emu, BEN) == ["0", "3"]
    assert await emu.client.faults_pending() == []


async def test_a_server_error_is_json_and_a_proxy_error_is_not(
    emu: LocalTelegram, ask: Ask, http: ClientSession
) -> None:
    await emu.client.fault("status", status=500)
    await emu.client.fault("status", status=502)

    failed = await ask("getMe")
    async with http.get(f"{emu.bot_url}/getMe") as response:
        page = await response.text()

    assert failed["description"] == "Internal Server Error: restart"
    assert (response.status, response.content_type) == (502, "text/html")
    assert page.startswith("<html>")


async def test_any_refusal_can_be_planned(emu: LocalTelegram, ask: Ask) -> None:
    await emu.client.fault("status", status=403, description="Forbidden: user is deactivated")

    refused = await ask("sendMessage", chat_id=ADA, text="a")

    assert refused["description"] == "Forbidden: user is deactivated"
    assert await said(emu) == []


async def test_garbage_is_half_an_answer_to_a_call_that_happened(
    emu: LocalTelegram, http: ClientSession
) -> None:
    await emu.client.fault("garbage", method="sendMessage")

    params = {"chat_id": str(ADA), "text": "a"}
    async with http.get(f"{emu.bot_url}/sendMessage", params=params) as response:
        body = await response.text()

    assert body.startswith('{"ok": true')
    with pytest.raises(ValueError, match=r"delimiter|Unterminated|Expecting"):
        json.loads(body)
    assert await said(emu) == ["a"]


async def test_a_slow_call_has_its_effect_before_its_answer(emu: LocalTelegram, ask: Ask) -> None:
    await emu.client.fault("slow", method="sendMessage", seconds=60)

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        slow = group.create_task(ask("sendMessage", chat_id=ADA, text="a"))
        message = await emu.client.next_message(ADA)
        slow.cancel()

    assert message.text == "a"


async def test_a_confirmed_update_can_be_delivered_twice(emu: LocalTelegram, ask: Ask) -> None:
    await emu.client.fault("duplicate_update")
    await emu.client.say(ADA, ADA, "a")
    [update] = (await ask("getUpdates"))["result"]
    after = update["update_id"] + 1

    assert (await ask("getUpdates", offset=after))["result"] == [update]
    assert (await ask("getUpdates", offset=after))["result"] == []


async def test_faults_can_be_taken_back(emu: LocalTelegram, ask: Ask) -> None:
    await emu.client.fault("status", times=100)
    await emu.client.clear_faults()

    assert (await ask("getMe"))["ok"]


async def test_an_unknown_fault_is_refused(emu: LocalTelegram) -> None:
    with pytest.raises(ActRefused, match="a fault is one of drop_before"):
        await emu.client.fault("explode")
