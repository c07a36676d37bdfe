"""`scripts/try --service`: the real channel, the real provider code, and a service's own rules."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import aiohttp
import pytest

from aouo.app.local import trial
from aouo.app.services import speech_of
from aouo.config.settings import Settings
from aouo.facts.errors import SetupError
from aouo.installer.installed import sample_packs
from aouo.plumbing.home import Home
from aouo.plumbing.resources import Holder
from aouo.providers.speech.services import Speaker, Transcriber
from tests.fakes.models import ModelService, profile, trying
from tests.fakes.models.asked import _NOTE
from tests.fakes.models.telling import says_back
from tests.fakes.models.trying import pointed

WAIT_S = 120.0
ELSEWHERE = {
    "AOUO_PROVIDER__BACKEND": "openai",
    "AOUO_DEEPSEEK__BASE_URL": "http://127.0.0.1:9",
    "DEEPSEEK_API_KEY": "sk-of-the-owner",
}
"""What the owner's shell may say about a real service."""


def local_service(name: str) -> ModelService:
    family = profile(name)
    return ModelService(family, says_back(family), keep=False)


async def said(tmp_path: Path, text: str, name: str) -> str:
    async with asyncio.timeout(WAIT_S), local_service(name) as service:
        return await trial.say(
            Home(tmp_path / "home"),
            pointed(ELSEWHERE, service.settings()),
            sample_packs(),
            lambda _line: None,
            text=text,
            pack="notes",
        )


async def test_what_a_person_writes_comes_back_and_says_that_no_model_is_there(
    tmp_path: Path,
) -> None:
    answer = await said(tmp_path, "Buy milk", "deepseek")

    assert answer.startswith("(No model is here.) You said: Buy milk")


async def test_a_person_can_call_a_tool_and_reads_what_it_answered(tmp_path: Path) -> None:
    answer = await said(tmp_path, 'call memory {"action": "read"}', "gemini")

    assert answer.startswith("The tool answered: ")


async def test_a_service_that_speaks_and_hears_does_so_here_too() -> None:
    async with (
        local_service("groq") as service,
        aiohttp.ClientSession() as session,
        Holder() as held,
    ):
        ears, voice = speech_of(Settings.model_validate(service.settings()), lambda: session, held)
        assert isinstance(voice, Speaker)
        assert isinstance(ears, Transcriber)

        assert (await voice.speak("Good morning")).is_voice
        heard = await ears.heard("a.ogg", _NOTE)

    assert heard.text == "(a recording of 45 bytes, which nobody listened to)"


@pytest.mark.parametrize("service", ["ollama", "lmstudio"])
async def test_what_the_owner_is_told_of_a_model_besides_is_no_part_of_the_answer(
    tmp_path: Path, service: str
) -> None:
    """Their small windows are told of at the start."""
    answer = await said(tmp_path, "Buy milk", service)

    assert answer.startswith("(No model is here.) You said: Buy milk")


async def test_a_command_is_run_with_a_service_of_the_name_or_is_told_which_there_are() -> None:
    says = "import os; raise SystemExit(os.environ['AOUO_PROVIDER__BACKEND'] != 'deepseek')"

    assert await trying.run(ELSEWHERE, "deepseek", sys.executable, "-c", says) == 0
    with pytest.raises(SetupError, match=r"no local service 'nobody'.*anthropic, deepseek"):
        await trying.run(ELSEWHERE, "nobody", "true")
