"""`aouo doctor` and `aouo models` at the local services, each with its family's rules.

Source: issue 12, 6 and 7.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from click.testing import CliRunner

from aouo.cli.main import aouo
from aouo.plumbing.home import Home
from tests.fakes.models import ModelService, names, profile
from tests.fakes.models.asked import Asked
from tests.fakes.models.telling import CallPart, Meets, Reply, Says, Script
from tests.sampling import taking

WAIT_S = 30.0


def as_asked(asked: Asked) -> Reply:
    """Calls the tool that it is given, and sees red."""
    if asked.tools:
        return Says(calls=(CallPart(asked.tools[0], {"word": "pong"}),))
    return Says("Red.")


@contextmanager
def serving(family: str, script: Script = as_asked) -> Generator[ModelService]:
    """A service on a loop of its own."""
    service = ModelService(profile(family), script)
    loop, up = asyncio.new_event_loop(), threading.Event()
    ended = asyncio.Event()

    async def serve() -> None:
        async with service:
            up.set()
            await ended.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert up.wait(WAIT_S)
        yield service
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
        loop.close()


def configure(home: Home, service: ModelService, model: str = "", **provider: Any) -> None:
    home.create()
    config = service.settings(model)
    config["provider"] |= provider
    write(home, config)


def write(home: Home, config: dict[str, Any]) -> None:
    home.config.write_text(json.dumps(config))
    home.config.chmod(0o600)


def doctor(runner: CliRunner, name: str = "model") -> list[tuple[str, str, str]]:
    """What it says of the models: (status, detail, fix)."""
    checks = json.loads(runner.invoke(aouo, ["doctor", "--json"]).stdout)["checks"]
    return [(c["status"], c["detail"], c["fix"]) for c in checks if c["name"].startswith(name)]


@pytest.mark.parametrize(
    ("family", "wish", "what", "fix"),
    [
        (
            "kimi",
            {"temperature": 0.7},
            "provider.temperature is refused by kimi-k3; requests go without it",
            "Set provider.temperature to null.",
        ),
        (
            "kimi",
            {"effort": "none"},
            "kimi-k3 takes no provider.effort of none; requests say low",
            "Set provider.effort to low.",
        ),
        (
            "kimi",
            {"temperature": 0.7, "effort": "high"},
            "provider.temperature or provider.effort is refused by kimi-k3; requests go without "
            "both",
            'Set provider.temperature to null, or provider.effort to "", and ask again: one alone '
            "may be taken.",
        ),
        (
            "anthropic",
            {"temperature": 0.7},
            "provider.temperature is refused by claude-opus-4-7; requests go without it",
            "Set provider.temperature to null.",
        ),
        (
            "openai",
            {"temperature": 0.7, "effort": "high"},
            "provider.temperature is refused by gpt-6-luna; requests go without it",
            "Set provider.temperature to null.",
        ),
    ],
)
def test_a_setting_that_a_service_refuses_is_said_with_the_value_that_it_takes(
    runner: CliRunner, home: Home, family: str, wish: dict[str, Any], what: str, fix: str
) -> None:
    """It answers all the same: so `doctor` warns, and `models test` succeeds."""
    with serving(family) as service:
        configure(home, service, **wish)
        answers, refused = doctor(runner)
        tested = runner.invoke(aouo, ["models", "test", "--json"])

    assert answers[0] == "ok"
    assert refused == ("warn", what, fix)
    assert json.loads(tested.stdout)[0]["concerns"] == [f"{what}. {fix}"]
    assert tested.exit_code == 0


@pytest.mark.parametrize("family", ["openai", "groq"])
def test_what_a_service_speaks_and_hears_is_asked_with_the_rest(
    runner: CliRunner, home: Home, family: str
) -> None:
    with serving(family) as service:
        configure(home, service)
        checks = json.loads(runner.invoke(aouo, ["doctor", "--json"]).stdout)["checks"]
        tested = json.loads(runner.invoke(aouo, ["models", "test", "--json"]).stdout)

    answers = {c["name"]: c["detail"] for c in checks if c["name"] in ("tts", "stt")}
    assert set(answers) == {"tts", "stt"}
    assert all(detail.startswith(family) for detail in answers.values())
    assert all(" answers" in detail for detail in answers.values())
    assert [(one["role"], one["ok"]) for one in tested[1:]] == [("tts", True), ("stt", True)]


DEAD = [
    (family, model)
    for family in names()
    for model, known in profile(family).models.items()
    if known.dead and not known.wires
]


@pytest.mark.parametrize(("family", "model"), taking(DEAD))
def test_a_model_that_its_service_gave_up_fails_and_one_that_it_keeps_is_named(
    runner: CliRunner, home: Home, family: str, model: str
) -> None:
    """Finding 14: what `doctor` said ok to."""
    with serving(family) as service:
        configure(home, service, model)
        refused, unlisted = doctor(runner)
        living = [name for name, known in service.profile.living.items() if not known.wires]

    assert refused[0] == "fail"
    assert model in refused[1]
    assert unlisted[1].endswith(f" does not list {model}")
    assert any(name in unlisted[2] for name in living)


@pytest.mark.parametrize(
    "family", [name for name in names() if "no_tools" in profile(name).troubles]
)
def test_a_model_that_refuses_tools_fails_in_the_words_of_its_service(
    runner: CliRunner, home: Home, family: str
) -> None:
    """Finding 14."""

    def refuses(asked: Asked) -> Reply:
        return Meets("no_tools") if asked.tools else Says("Red.")

    with serving(family, refuses) as service:
        configure(home, service)
        status, detail, _ = doctor(runner)[0]

    assert status == "fail"
    assert "tool" in detail
    assert f"HTTP {service.profile.troubles['no_tools'].status}" in detail


def test_settings_that_a_service_takes_are_asked_with_and_not_spoken_of(
    runner: CliRunner, home: Home
) -> None:
    with serving("kimi") as service:
        configure(home, service, temperature=1, effort="high")
        (answers,) = doctor(runner)
        bodies = list(service.requests)

    assert answers[0] == "ok"
    assert [(body["temperature"], body["reasoning_effort"]) for body in bodies] == [(1, "high")]


def test_doctor_sees_the_price_that_only_the_models_server_says(
    runner: CliRunner, home: Home
) -> None:
    with serving("openrouter") as service:
        home.create()
        write(home, service.settings() | {"budgets": {"daily_usd": 1}})
        found = doctor(runner, "budgets")

    assert found == [("ok", "every configured model has a price", "")]


def test_doctor_says_that_nothing_is_asked_when_the_server_that_answered_says_no_price(
    runner: CliRunner, home: Home
) -> None:
    with serving("vllm") as service:
        home.create()
        write(home, service.settings() | {"budgets": {"daily_usd": 1}})
        ((status, what, _),) = doctor(runner, "budgets")

    assert status == "warn"
    assert what == "a budget is set and Qwen/Qwen3.6-27B has no price: nothing is asked"


@pytest.mark.parametrize(
    ("family", "trouble", "fix"),
    [
        ("groq", "wrong_key", "Set groq.api_key."),
        ("groq", "decommissioned", "Set provider.model to another one."),
        ("openrouter", "no_endpoints", "Set provider.model to another one."),
        (
            "ollama",
            "no_tools",
            "Set provider.model to a model that takes tools, as packs need; a server of your own ",
        ),
        ("openai", "region", "Run aouo in another country, go through a proxy there (HTTPS_PROXY)"),
        ("openai", "busy", "Ask again in a minute; if it stays so, "),
        ("openrouter", "per_day", "Wait for its next day, take a larger plan, or "),
        ("groq", "tokens_per_minute_large", "Take a larger plan or another model: "),
        ("openrouter", "declined", "The test was harmless: ask again, or look at the filters"),
    ],
)
def test_each_refusal_is_told_with_what_mends_it(
    runner: CliRunner, home: Home, family: str, trouble: str, fix: str
) -> None:
    with serving(family, lambda asked: Meets(trouble)) as service:
        configure(home, service)
        found = doctor(runner)[0]
        tested = runner.invoke(aouo, ["models", "test", "--json"])

    assert found[0] == "fail"
    assert found[2].startswith(fix)
    assert json.loads(tested.stdout)[0]["fix"] == found[2]
    assert tested.exit_code == 1


def test_a_model_that_nobody_knows_is_listed_without_a_claim(runner: CliRunner, home: Home) -> None:
    home.create()
    at = {"base_url": "http://127.0.0.1:9/v1"}
    write(
        home,
        {"provider": {"backend": "mine", "model": "unheard-of"}, "providers": {"mine": at}},
    )

    lines = runner.invoke(aouo, ["models", "--fast"]).stdout.splitlines()

    assert lines[1].endswith(" tokens  — assumed: nobody says")
    assert lines[3] == "  price     not known"
