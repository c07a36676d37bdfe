"""An emulator for each test, and a way to call its Bot API as a bot would."""

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeAlias

import pytest
from aiohttp import ClientSession, ClientTimeout

from tests.fakes.telegram import LocalTelegram

Ask: TypeAlias = Callable[..., Coroutine[Any, Any, dict[str, Any]]]


class HandClock:
    """Time that moves only when a test says so."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def emu(clock: HandClock) -> AsyncIterator[LocalTelegram]:
    async with LocalTelegram(clock=clock) as emulator:
        yield emulator


@pytest.fixture
async def http() -> AsyncIterator[ClientSession]:
    async with ClientSession(timeout=ClientTimeout(total=10)) as session:
        yield session


@pytest.fixture
def ask(emu: LocalTelegram, http: ClientSession) -> Ask:
    """Call a method with a JSON body; the whole answer, whose code must equal the status."""

    async def call(method: str, **params: Any) -> dict[str, Any]:
        async with http.post(f"{emu.bot_url}/{method}", json=params) as response:
            body: dict[str, Any] = await response.json()
        assert response.status == body.get("error_code", 200)
        return body

    return call
