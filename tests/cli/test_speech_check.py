"""`aouo doctor` has the speech services speak and hear. Findings 1 and 24."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from aouo.cli.main import aouo
from aouo.plumbing.home import Home
from tests.fakes.models import ModelService, profile
from tests.fakes.tls_server import make, serving

KEY = "sk-very-secret"
WAIT_S = 30.0


@pytest.fixture
def services() -> Generator[dict[str, ModelService]]:
    """OpenAI and Groq, on a loop of their own."""
    servers = {name: ModelService(profile(name), api_key=KEY) for name in ("openai", "groq")}
    loop, up = asyncio.new_event_loop(), threading.Event()
    ended = asyncio.Event()

    async def serve() -> None:
        async with servers["openai"], servers["groq"]:
            up.set()
            await ended.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert up.wait(WAIT_S)
    yield servers
    loop.call_soon_threadsafe(ended.set)
    thread.join()
    loop.close()


def found(
    home: Home, runner: CliRunner, services: dict[str, ModelService], **sections: Any
) -> dict[str, tuple[str, str, str]]:
    """What the doctor says of speech; name → (status, detail, fix)."""
    home.create()
    at = {
        "openai": {"base_url": f"{services['openai'].url}/v1", "api_key": KEY},
        "groq": {"base_url": services["groq"].url, "api_key": KEY},
        "provider": {"backend": "none"},
    }
    home.config.write_text(json.dumps(at | sections))
    home.config.chmod(0o600)
    said = runner.invoke(aouo, ["doctor", "--json"]).stdout
    assert KEY not in said
    checks = json.loads(said)["checks"]
    return {c["name"]: (c["status"], c["detail"], c["fix"]) for c in checks}


def test_speech_that_works_is_asked_for_the_least(
    home: Home, runner: CliRunner, services: dict[str, ModelService]
) -> None:
    checks = found(home, runner, services, tts={"backend": "groq"})

    assert checks["tts"] == ("ok", "groq, canopylabs/orpheus-v1-english answers", "")
    assert checks["stt"] == ("ok", "groq, whisper-large-v3-turbo answers", "")
    assert [wish["input"] for wish in services["groq"].spoken] == ["Hi."]
    assert len(services["groq"].files[0].data) < 40_000


def test_terms_that_are_not_accepted_are_quoted_with_their_address(
    home: Home, runner: CliRunner, services: dict[str, ModelService]
) -> None:
    services["groq"].memory.terms_accepted = False

    status, detail, fix = found(home, runner, services, tts={"backend": "groq"})["tts"]

    assert status == "warn"
    assert "https://console.groq.com/playground?model=canopylabs/orpheus-v1-english" in detail
    assert fix.startswith("Accept the terms")


def test_a_shutdown_that_the_service_announces_is_said_with_its_day(
    home: Home, runner: CliRunner, services: dict[str, ModelService]
) -> None:
    speech = {"tts": {"backend": "openai"}, "stt": {"backend": "openai"}}

    checks = found(home, runner, services, **speech)

    assert checks["tts"] == (
        "warn",
        "openai, gpt-4o-mini-tts answers; the service shuts it down on 2027-01-06",
        "Set tts.model to one that the service keeps, or tts.backend to another.",
    )
    assert checks["stt"] == ("ok", "openai, gpt-transcribe answers", "")


def test_a_model_that_is_gone_is_named_with_the_key_to_set(
    home: Home, runner: CliRunner, services: dict[str, ModelService]
) -> None:
    gone = {
        "tts": {"backend": "groq", "model": "playai-tts"},
        "stt": {"backend": "groq", "model": "distil-whisper-large-v3-en"},
    }

    checks = found(home, runner, services, **gone)

    for part, model in (("tts", "playai-tts"), ("stt", "distil-whisper-large-v3-en")):
        status, detail, fix = checks[part]
        assert status == "warn"
        assert f"The model `{model}` has been decommissioned" in detail
        assert fix == f"Set {part}.model to a model that groq has, or {part}.backend to another."


def test_without_a_key_nobody_is_asked(
    home: Home, runner: CliRunner, services: dict[str, ModelService]
) -> None:
    checks = found(home, runner, services, groq={"base_url": services["groq"].url})

    assert not {"tts", "stt"} & set(checks)
    assert services["groq"].paths == []


def test_a_certificate_in_the_way_is_told_with_what_mends_it(
    home: Home, runner: CliRunner, services: dict[str, ModelService], tmp_path: Path
) -> None:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    shown = serving(make("localhost"), tmp_path)
    try:
        port = asyncio.run_coroutine_threadsafe(shown.__aenter__(), loop).result(WAIT_S)
        at = {"base_url": f"https://localhost:{port}", "api_key": KEY}
        status, _, fix = found(home, runner, services, groq=at)["stt"]
        asyncio.run_coroutine_threadsafe(shown.__aexit__(None, None, None), loop).result(WAIT_S)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    assert status == "warn"
    assert fix.startswith("The certificate of localhost is signed by itself")


def test_models_lists_the_speech_services_and_tests_them_too(
    home: Home, runner: CliRunner, services: dict[str, ModelService]
) -> None:
    home.create()
    at = {
        "openai": {"base_url": f"{services['openai'].url}/v1", "api_key": KEY},
        "groq": {"base_url": services["groq"].url, "api_key": KEY},
        "provider": {"backend": "openai"},
        "tts": {"backend": "groq"},
    }
    home.config.write_text(json.dumps(at))
    services["groq"].memory.terms_accepted = False

    listed = json.loads(runner.invoke(aouo, ["models", "--json"]).stdout)[1:]
    asked = list(services["groq"].paths)
    tested = runner.invoke(aouo, ["models", "test", "--json"])
    spelled = runner.invoke(aouo, ["models", "test"]).stdout
    speaks, hears = json.loads(tested.stdout)[1:]

    assert [(one["role"], one["provider"], one["model"], one["key"]) for one in listed] == [
        ("tts", "groq", "canopylabs/orpheus-v1-english", "tts.model"),
        ("stt", "groq", "whisper-large-v3-turbo", "stt.model"),
    ]
    assert asked == []
    assert (speaks["ok"], hears["ok"]) == (False, True)
    assert "https://console.groq.com/playground" in speaks["refusal"]
    assert speaks["fix"].startswith("Accept the terms")
    assert tested.exit_code == 1
    assert "  speaks    NO: " in spelled
    assert "  hears     yes" in spelled
