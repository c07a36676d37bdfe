"""Which models the settings come to."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from aouo.app.services import model_of
from aouo.config.settings import Settings
from aouo.facts.errors import SetupError
from aouo.facts.transcript import ModelRequest, UserSaid
from aouo.plumbing.resources import Holder, Thing, close_all
from aouo.providers.dialect import Dialects
from aouo.providers.fallback import FallbackModel
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Body, Fails, ModelServer, Reply, Says

KEYS = {name: {"api_key": "k"} for name in ("openai", "groq", "gemini", "deepseek")}
MINE = {"providers": {"mine": {"base_url": "http://127.0.0.1:9/v1"}}}


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def made(
    session: aiohttp.ClientSession, provider: dict[str, Any], **more: Any
) -> FallbackModel:
    settings = Settings.model_validate({"provider": provider, **more})
    async with Holder() as held:
        return await model_of(settings, session, held, FastClock())


async def test_the_primary_comes_first_and_the_fallbacks_in_order(
    session: aiohttp.ClientSession,
) -> None:
    fallback = [{"backend": "gemini"}, {"backend": "groq", "model": "llama-3.1-8b-instant"}]

    model = await made(session, {"backend": "openai", "fallback": fallback}, **KEYS)

    assert model.candidates == (
        ("openai", "gpt-6-luna"),
        ("gemini", "gemini-3.5-flash-lite"),
        ("groq", "llama-3.1-8b-instant"),
    )
    assert model.context_window == 131_072
    assert not model.sees


@pytest.mark.parametrize(
    ("provider", "more", "window_tokens"),
    [
        ({"backend": "openai"}, KEYS, 1_050_000),
        ({"backend": "mine", "model": "unheard-of"}, MINE, 32_768),
        ({"backend": "openai"}, {**KEYS, "advanced": {"context_window": 9_000}}, 9_000),
        (
            {"backend": "mine", "model": "gpt-4o"},
            {"providers": {"mine": {"base_url": "http://127.0.0.1:9", "context_window": 5_000}}},
            5_000,
        ),
    ],
)
async def test_the_owners_window_counts_more_than_what_is_known_of_a_model(
    session: aiohttp.ClientSession,
    provider: dict[str, Any],
    more: dict[str, Any],
    window_tokens: int,
) -> None:
    assert (await made(session, provider, **more)).context_window == window_tokens


@pytest.mark.parametrize(
    ("model", "vision", "eyes", "sees"),
    [
        ("gpt-4o", "auto", "", True),
        ("gpt-4o", "off", "", False),
        ("gpt-oss-120b", "auto", "", False),
        ("unheard-of", "auto", "", True),
        ("unheard-of", "auto", "gemini-3.5-flash-lite", False),
        ("unheard-of", "on", "", True),
        ("unheard-of", "off", "", False),
    ],
)
async def test_vision_is_the_owners_word_or_known_of_the_model(
    session: aiohttp.ClientSession, model: str, vision: str, eyes: str, sees: bool
) -> None:
    """One that nobody knows is shown pictures until it refuses one, unless another describes
    them."""
    made_of = {"backend": "openai", "model": model, "vision": vision}
    more = {**KEYS, "gemini": {"api_key": "k", "vision_model": eyes}}

    assert (await made(session, made_of, **more)).sees is sees


@pytest.mark.parametrize(
    ("provider", "more", "fix"),
    [
        ({"backend": "openai"}, {}, "Set openai.api_key, or provider.backend"),
        ({"backend": "mine"}, MINE, "Set provider.model."),
        (
            {"backend": "openai", "fallback": [{"backend": "groq"}]},
            {"openai": {"api_key": "k"}},
            "Set groq.api_key, or provider.fallback.0.backend",
        ),
        (
            {"backend": "openai", "fallback": [{"backend": "gone", "model": "m"}]},
            {"openai": {"api_key": "k"}},
            "Choose one of none, openai",
        ),
    ],
)
async def test_what_is_missing_is_named(
    session: aiohttp.ClientSession, provider: dict[str, Any], more: dict[str, Any], fix: str
) -> None:
    with pytest.raises(SetupError) as caught:
        await made(session, provider, **more)

    assert fix in caught.value.fix


async def test_models_made_anew_know_how_much_room_their_service_gives(
    session: aiohttp.ClientSession,
) -> None:
    """As a reload makes them, and the button for a cheaper model (whose name decides)."""
    words = {"error": {"message": "the valid range of max_tokens is [1, 8192]"}}

    def rule(body: Body) -> Reply:
        return Fails(400, words) if body["max_tokens"] > 8_192 else Says("Hello.")

    request = ModelRequest("", (UserSaid("hello"),), (), max_tokens=16_384)
    dialects = Dialects()
    async with ModelServer(rule) as server, asyncio.timeout(30), Holder() as held:
        for name in ("m", "m", "cheaper"):
            settings = Settings.model_validate(
                {
                    "provider": {"backend": "mine", "model": name},
                    "providers": {"mine": {"base_url": server.base_url}},
                }
            )
            model = await model_of(settings, session, held, FastClock(), dialects)
            assert [event async for event in model.stream(request)]
        asked = [body["max_tokens"] for body in server.requests]

    assert asked == [16_384, 8_192, 8_192, 16_384, 8_192]


async def test_making_the_models_and_all_around_them_imports_no_sdk() -> None:
    """A start waits for nothing that only a model call needs (issue 3, "Providers")."""
    heavy = ("openai", "groq", "google.genai", "httpx2", "xllamacpp")
    program = f"import sys, aouo.app.wiring; print([m for m in {heavy} if m in sys.modules])"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(30):
        said, _ = await process.communicate()

    assert said.decode().strip() == "[]"


async def test_models_of_the_same_settings_are_the_same_and_others_are_made_anew(
    session: aiohttp.ClientSession,
) -> None:
    """A reload keeps their health and what is known of them."""
    dialects, clock, things = Dialects(), FastClock(), list[Thing]()
    one = {"provider": {"backend": "openai"}, "openai": {"api_key": "one"}}
    settings = [
        one,
        one | {"telegram": {"max_parts": 3}},
        one | {"openai": {"api_key": "two"}},
        one | {"provider": {"backend": "openai", "fallback": [{"backend": "none"}]}},
        one | {"provider": {"backend": "openai", "fallback": [{"backend": "none"}]}},
    ]
    made = [
        await model_of(Settings.model_validate(each), session, Holder(things), clock, dialects)
        for each in settings
    ]
    await close_all(things)
    same, other_key, with_fallback, again = made[1:]

    assert same is made[0]
    assert other_key.models[0] is not made[0].models[0]
    assert with_fallback.models[0] is made[0].models[0]
    assert again is with_fallback
