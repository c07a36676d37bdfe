"""`aouo try --service`: the real channel, the real provider code, and a service's own rules."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest

from aouo.app.local import trial
from aouo.app.local.trial import local_service
from aouo.app.services import speech_of
from aouo.config.settings import Settings
from aouo.emulator.models.asked import _NOTE
from aouo.facts.errors import SetupError
from aouo.installer.installed import sample_packs
from aouo.plumbing.home import Home
from aouo.plumbing.resources import Holder
from aouo.providers.speech.services import Speaker, Transcriber

WAIT_S = 120.0
ELSEWHERE = {
    "AOUO_PROVIDER__BACKEND": "openai",
    "AOUO_DEEPSEEK__BASE_URL": "http://127.0.0.1:9",
    "DEEPSEEK_API_KEY": "sk-of-the-owner",
}
"""What the owner's shell may say about a real service."""


async def said(tmp_path: Path, text: str, service: str) -> tuple[list[str], str]:
    """The lines of progress and the answer."""
    told: list[str] = []
    async with asyncio.timeout(WAIT_S):
        answer = await trial.say(
            Home(tmp_path / "home"),
            ELSEWHERE,
            sample_packs(),
            told.append,
            text=text,
            pack="notes",
            service=service,
        )
    return told, answer


async def test_what_a_person_writes_comes_back_and_the_first_line_says_that_no_model_is_there(
    tmp_path: Path,
) -> None:
    told, answer = await said(tmp_path, "Buy milk", "deepseek")

    assert told[0].startswith("No model answers here: the rules are those of DeepSeek")
    assert answer.startswith("(No model is here.) You said: Buy milk")


async def test_a_person_can_call_a_tool_and_reads_what_it_answered(tmp_path: Path) -> None:
    _, answer = await said(tmp_path, 'call memory {"action": "read"}', "gemini")

    assert answer.startswith("The tool answered: ")


async def test_a_service_that_speaks_and_hears_does_so_here_too() -> None:
    async with (
        local_service("groq", lambda _line: None) as served,
        aiohttp.ClientSession() as session,
        Holder() as held,
    ):
        ears, voice = speech_of(Settings.model_validate(served), lambda: session, held)
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
    _, answer = await said(tmp_path, "Buy milk", service)

    assert answer.startswith("(No model is here.) You said: Buy milk")


async def test_an_unknown_service_is_answered_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"no local service 'nobody'.*anthropic, deepseek"):
        await said(tmp_path, "Buy milk", "nobody")

    assert not (tmp_path / "home").exists()
