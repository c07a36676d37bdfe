"""A server is asked what it says of its models, whatever it answers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from aouo.config.sections import Endpoint
from aouo.facts.errors import ProviderBusy, ProviderRejected
from aouo.providers.known.knowing import _with_word, facts_of, inquire
from aouo.providers.known.told import Told
from aouo.providers.refusals import refuses_pictures
from tests.fakes.model_server import ModelServer


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


async def test_each_server_of_ones_own_is_asked_in_its_own_words(
    session: aiohttp.ClientSession, server: ModelServer
) -> None:
    at = Endpoint(server.base_url, "", 0)
    server.says = {
        "/v1/models": {"data": [{"id": "big.gguf", "owned_by": "llamacpp"}]},
        "/props": {"default_generation_settings": {"n_ctx": 8192}, "modalities": {"vision": True}},
    }
    of_llama_cpp = await inquire(session, "mine", at, "any-name")
    server.says = {
        "/v1/models": {"data": [{"id": "m", "owned_by": "organization_owner"}]},
        "/api/v0/models": {"data": [{"id": "m", "type": "llm", "loaded_context_length": 4096}]},
    }
    of_lm_studio = await inquire(session, "mine", at, "m")
    server.says = {
        "/v1/models": {"data": [{"id": "m:latest", "owned_by": "library"}]},
        "/api/show": {"capabilities": ["vision"]},
        "/api/ps": {"models": [{"name": "m:latest", "context_length": 4096}]},
    }
    of_ollama = await inquire(session, "mine", at, "m")

    assert of_llama_cpp.told == Told(8192, sees=True)
    assert of_lm_studio.told == Told(4096)
    assert of_ollama.told == Told(4096, sees=True, calls_tools=False, thinks=False)
    assert [one.server for one in (of_llama_cpp, of_lm_studio, of_ollama)] == [
        "llama.cpp",
        "lm studio",
        "ollama",
    ]


async def test_gemini_is_asked_for_its_own_list(
    session: aiohttp.ClientSession, server: ModelServer
) -> None:
    """Its compatible list has no windows."""
    own = f"http://127.0.0.1:{server.port}/v1beta/openai"
    server.says["/v1beta/models"] = {
        "models": [{"name": "models/gemini-3.5-flash-lite", "inputTokenLimit": 1_048_576}]
    }

    said = await inquire(session, "gemini", Endpoint(own, "k", 0), "gemini-3.5-flash-lite")

    assert said.told == Told(1_048_576)
    assert said.names == ("gemini-3.5-flash-lite",)


async def test_what_is_no_list_says_nothing(
    session: aiohttp.ClientSession, server: ModelServer
) -> None:
    html = "<html></html>"
    server.says = {"/v1/models": html}

    said = await inquire(session, "mine", Endpoint(server.base_url, "", 0), "m")
    refused = await inquire(session, "mine", Endpoint(f"{server.base_url}/no", "", 0), "m")
    nobody = await inquire(session, "mine", Endpoint("http://127.0.0.1:9/v1", "", 0), "m")
    nowhere = await inquire(session, "mine", Endpoint("not an address", "", 0), "m")

    assert (said.status, said.names, said.told) == (200, (), None)
    assert refused.status == 404
    assert nobody.status == nowhere.status == 0
    assert "Cannot connect" in nobody.why


@pytest.mark.parametrize(
    ("own", "told", "listed", "tokens", "source"),
    [
        (0, None, 0, 128_000, "its name"),
        (0, Told(8_192), 0, 8_192, "the server"),
        (0, Told(8_192), 128_000, 8_192, "the server"),
        (0, Told(1_000_000), 128_000, 128_000, "the catalogue"),
        (0, None, 256_000, 256_000, "the catalogue"),
        (9_000, Told(8_192), 128_000, 9_000, "you"),
    ],
)
def test_the_owners_window_counts_then_the_smaller_of_what_server_and_catalogue_say(
    own: int, told: Told | None, listed: int, tokens: int, source: str
) -> None:
    by_name = facts_of("gpt-4o", own_window=own, vision="auto", tries=True)

    found = _with_word(by_name, told, listed)

    assert (found.window_tokens, found.window_from) == (tokens, source)


def test_the_window_that_a_model_had_in_memory_stays_when_it_is_put_out() -> None:
    """Ollama puts a model out after five minutes; it comes back as it was."""
    at_first = facts_of("qwen3:8b", own_window=0, vision="auto", tries=True)
    unloaded, loaded = Told(40_960, loaded=False), Told(4_096)

    windows: list[int] = []
    for told in (unloaded, loaded, unloaded, unloaded, None, Told(16_384)):
        at_first = _with_word(at_first, told)
        windows.append(at_first.window_tokens)

    assert windows == [40_960, 4_096, 4_096, 4_096, 4_096, 16_384]


def test_the_server_knows_best_who_sees_but_for_the_owner() -> None:
    auto = facts_of("gpt-4o", own_window=0, vision="auto", tries=True)
    on = facts_of("gpt-4o", own_window=0, vision="on", tries=True)

    assert not _with_word(auto, Told(sees=False)).sees
    assert _with_word(on, Told(sees=False)).sees


@pytest.mark.parametrize(
    ("words", "blind"),
    [
        ("mine: HTTP 400: Qwen3-32B is not a multimodal model", True),
        ("mine: HTTP 400: this model does not support image input (ref: b8bd)", True),
        (
            "mine: HTTP 500: server_error: image input is not supported - hint: you need mmproj",
            True,
        ),
        ("openrouter: HTTP 404: No endpoints found that support image input", True),
        ("deepseek: HTTP 400: unknown variant `image_url`, expected `text`", True),
        ("groq: HTTP 400: 'messages.1' : content must be a string", True),
        ("openai: HTTP 400: image_url is only supported by certain models.", True),
        ("openai: HTTP 400: You uploaded an unsupported image. Supported formats: png", False),
        ("openai: HTTP 400: unsupported image media type image/heic", False),
        ("mine: HTTP 400: image too large: not supported above 5 MB", False),
        ("mine: HTTP 400: temperature is not supported", False),
        ("mine: HTTP 503: overloaded", False),
    ],
)
def test_a_refusal_of_pictures_is_told_from_one_of_this_picture(words: str, blind: bool) -> None:
    kind = ProviderBusy if "500" in words else ProviderRejected

    assert refuses_pictures(kind(words)) is blind
