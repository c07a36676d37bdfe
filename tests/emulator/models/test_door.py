"""Who may ask a local model service, and with what: it is a door on somebody's machine."""

from __future__ import annotations

import io
from collections.abc import AsyncGenerator

import aiohttp
import pytest

from tests.fakes.models.profile import profile
from tests.fakes.models.service import _MAX_BODY_BYTES, ModelService

CHAT, SHOW = "/v1/chat/completions", "/api/show"


@pytest.fixture
async def service() -> AsyncGenerator[ModelService]:
    async with ModelService(profile("ollama")) as service:
        yield service


async def status_of(
    service: ModelService, data: bytes, *, path: str = CHAT, headers: dict[str, str] | None = None
) -> int:
    async with (
        aiohttp.ClientSession() as session,
        session.post(service.url + path, data=io.BytesIO(data), headers=headers) as answer,
    ):
        return answer.status


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "rebound.example"},
        {"Origin": "http://page.example"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
    ids=["a name that leads here", "a page's script", "a page's form"],
)
async def test_no_page_in_a_browser_asks_it(service: ModelService, headers: dict[str, str]) -> None:
    assert await status_of(service, b"{}", headers=headers) == 403


@pytest.mark.parametrize(
    "data",
    [b"", b"null", b"{no json", b"[]", b'{"a":' * 50_000 + b"1" + b"}" * 50_000],
    ids=["empty", "null", "no JSON", "a list", "50,000 deep"],
)
@pytest.mark.parametrize("path", [CHAT, SHOW])
async def test_what_it_cannot_read_is_the_askers_mistake(
    service: ModelService, path: str, data: bytes
) -> None:
    assert await status_of(service, data, path=path) in (400, 404)


async def test_more_than_it_takes_is_not_kept(service: ModelService) -> None:
    assert await status_of(service, b"x" * (_MAX_BODY_BYTES + 1)) == 413
