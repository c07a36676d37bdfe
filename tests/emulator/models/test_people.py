"""What answers a person where no model is, and the service as a process of its own."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Any

import aiohttp

from tests.emulator.models.conftest import Ask
from tests.emulator.models.requests import plain, said_in
from tests.fakes.models import ModelService, profile
from tests.fakes.models.profile import Body
from tests.fakes.models.telling import says_back

ROOT = Path(__file__).parents[3]
PATH = "/openai/v1/chat/completions"


async def says(service: ModelService, ask: Ask, words: str) -> tuple[int, Any]:
    body = plain(service.profile, "chat", tools=True)
    body["messages"][1]["content"] = f"[It is noon.]\n\n{words}"
    return await ask(service, PATH, body)


async def test_a_person_calls_tools_and_troubles_by_their_names(ask: Ask) -> None:
    groq = profile("groq")
    async with ModelService(groq, says_back(groq)) as service:

        async def said(words: str) -> str:
            return said_in("chat", (await says(service, ask, words))[1])

        assert await said("Hello") == "(No model is here.) You said: Hello"
        assert await said("call remove {}") == "There is no tool remove here; there are: add."
        assert "stumbled" in await said("trouble")
        assert "stumbled" in await said("trouble nobody")
        assert await said("trouble stumbled") == "The next request meets the trouble stumbled."
        assert (await says(service, ask, "Hello"))[0] == 400
        assert await said("Hello") == "(No model is here.) You said: Hello"
        _, events = await says(service, ask, 'call add {"row": "milk"}')

    calls = [c for e in events for o in e["choices"] for c in o["delta"].get("tool_calls") or []]
    assert calls[0]["function"]["name"] == "add"
    assert "".join(c["function"]["arguments"] for c in calls) == '{"row": "milk"}'


async def start(*options: str) -> tuple[Process, Body]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.fakes.models", *options, stdin=PIPE, stdout=PIPE, cwd=ROOT
    )
    assert process.stdout is not None
    async with asyncio.timeout(30):
        return process, json.loads(await process.stdout.readline())


async def test_as_a_process_it_prints_its_settings_answers_and_ends_with_its_figures() -> None:
    process, ready = await start("--profile", "groq", "--answer", "Here I am")
    assert process.stdout is not None
    headers = {"Authorization": f"Bearer {ready['api_key']}"}

    async with aiohttp.ClientSession(headers=headers) as session:
        body = plain(profile("groq"), "chat") | {"stream": False}
        async with session.post(ready["url"] + PATH, json=body) as answer:
            said = (await answer.json())["choices"][0]["message"]["content"]
        async with session.post(ready["url"] + PATH, json=body | {"model": "x"}) as answer:
            assert answer.status == 404
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(30):
        figures = json.loads(await process.stdout.readline())
        assert await process.wait() == 0

    assert said == "Here I am"
    assert ready["settings"]["groq"]["base_url"] == ready["base_url"]
    assert (figures["requests"], figures["refused"], figures["answers"]) == (2, 1, 1)


async def test_as_a_process_it_stops_with_its_parent_and_refuses_an_unknown_plan() -> None:
    process, _ = await start("--profile", "ollama", "--with-parent")
    assert process.stdin is not None
    process.stdin.close()
    wrong = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.fakes.models", "--profile", "groq", "--plan", "nobody"),
        stderr=PIPE,
        cwd=ROOT,
    )

    async with asyncio.timeout(30):
        assert await process.wait() == 0
        _, problem = await wrong.communicate()

    assert wrong.returncode == 3
    assert b"There are: free" in problem
