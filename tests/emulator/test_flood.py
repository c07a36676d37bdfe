"""Flood control: the numbers Telegram names; off unless switched on."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from aouo.emulator import ADA, BEN, FAMILY
from tests.fakes.telegram import LocalTelegram
from tests.fakes.telegram.faults import FloodControl

Ask: TypeAlias = Callable[..., Coroutine[Any, Any, dict[str, Any]]]


def refused_s(control: FloodControl, chat: int, now: float, method: str = "sendMessage") -> int:
    refusal = control.judge(method, chat, chat < 0, now)
    return refusal.parameters["retry_after"] if refusal else 0


def test_a_chat_takes_three_at_once_and_then_one_a_second() -> None:
    control = FloodControl(on=True)

    assert [refused_s(control, ADA, 100.0) for _ in range(4)] == [0, 0, 0, 1]
    assert refused_s(control, BEN, 100.0) == 0
    assert [refused_s(control, ADA, 101.0) for _ in range(2)] == [0, 1]


def test_edits_count_like_sends_and_chat_actions_do_not() -> None:
    control = FloodControl(on=True)
    for method in ("sendMessage", "editMessageText", "editMessageReplyMarkup"):
        assert refused_s(control, ADA, 100.0, method) == 0

    assert refused_s(control, ADA, 100.0, "sendChatAction") == 0
    assert refused_s(control, ADA, 100.0, "editMessageText") == 1


def test_a_group_takes_twenty_a_minute() -> None:
    control = FloodControl(on=True)
    taken = sum(refused_s(control, FAMILY, 100.0 + second) == 0 for second in range(60))

    assert 35 <= taken <= 40  # a burst of 20 and the 20 that come back within the minute


def test_all_chats_together_take_thirty_a_second() -> None:
    control = FloodControl(on=True)

    waits = [refused_s(control, chat, 100.0) for chat in range(1, 32)]

    assert waits == [0] * 30 + [1]


def test_a_refused_chat_counts_down_and_stays_refused() -> None:
    control = FloodControl(on=True)
    while refused_s(control, FAMILY, 100.0) == 0:
        pass

    first = refused_s(control, FAMILY, 100.0)
    assert refused_s(control, FAMILY, 100.0 + first) == 0


async def test_a_flood_answer_names_the_wait_twice(emu: LocalTelegram, ask: Ask, http: Any) -> None:
    await emu.client.flood(on=True)
    for _ in range(3):
        await ask("sendMessage", chat_id=ADA, text="a")

    async with http.post(
        f"{emu.bot_url}/sendMessage", data={"chat_id": str(ADA), "text": "a"}
    ) as response:
        body = await response.json()

    assert (response.status, response.headers["Retry-After"]) == (429, "1")
    assert body == {
        "ok": False,
        "error_code": 429,
        "description": "Too Many Requests: retry after 1",
        "parameters": {"retry_after": 1},
    }


async def test_flood_control_is_off_at_start(ask: Ask) -> None:
    answers = [await ask("sendMessage", chat_id=ADA, text="a") for _ in range(40)]

    assert all(answer["ok"] for answer in answers)
