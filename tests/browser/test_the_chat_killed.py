"""A page stays open while the process dies, and goes on with the next one: nothing twice."""

from __future__ import annotations

import signal
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from playwright.async_api import Browser
from yarl import URL

from tests.browser.chatting import Chatting, chatting
from tests.fakes.model_server import Body, CallPart, Says
from tests.path.dashboard.looking import Dashboard
from tests.path.lives import Place, kill_runner, lasting_port
from tests.path.looking import eventually
from tests.path.world import World

TOKEN = "of-the-owner"
GONE = "aouo does not answer. Trying again…"
WORDS = " ".join(f"word{n}" for n in range(120))


@pytest.fixture
def runner_port() -> Generator[int]:
    with kill_runner() as port:
        yield port


def model(body: Body) -> Says:
    """It asks a question, then answers at length, at first without an end."""
    if not body.get("tools"):
        return Says("ok")
    if body["messages"][-1]["role"] != "tool":
        return Says(calls=(CallPart("clarify", {"message": "Which colour?", "options": ["red"]}),))
    return Says(WORDS, chunks=12, stall_after=6)


@asynccontextmanager
async def life(here: Place, link: URL) -> AsyncGenerator[None]:
    """One process, from its page on, to its kill."""

    async def answers() -> bool:
        try:
            async with aiohttp.request("GET", link.join(URL("/healthz"))):
                return True
        except aiohttp.ClientError:
            return False

    async with here.alive(has_page=True) as alive:
        await eventually(answers)
        yield
        alive.stop(signal.SIGKILL)


async def told(chat: Chatting, text: str) -> None:
    """Wait until the chat says what is wrong."""
    await chat.window.page.locator("#view [role=alert]", has_text=text).wait_for()


async def test_an_open_chat_goes_on_over_two_kills_and_shows_each_thing_once(
    world: World, browser: Browser, runner_port: int
) -> None:
    port = lasting_port()
    link = URL(f"http://127.0.0.1:{port}/?token={TOKEN}")
    world.config = {"dashboard": {"token": TOKEN, "port": port}}
    world.configure()
    world.model.script = model
    here = Place(world.home, world.emulator, world.model, runner_port=runner_port)
    shown = Dashboard(None, link, None)  # pyright: ignore[reportArgumentType]
    async with life(here, link):
        opened = chatting(browser, shown)
        chat = await opened.__aenter__()
        await chat.say("paint it")
        await chat.said("Which colour?")
    await told(chat, GONE)
    async with life(here, link):
        await chat.window.page.locator("#view [role=alert]").wait_for(state="hidden")
        await chat.press("red")
        await chat.said("word3")
        await eventually(world.model.stalled.wait)
    await told(chat, GONE)
    world.model.release.set()
    async with life(here, link):
        await chat.said("word119")
        await chat.idle()
        kept = await chat.texts()
        await chat.window.page.reload()
        await chat.said("word119")
        after = await chat.texts()
        chat.window.problems.clear()  # that it did not answer
        await opened.__aexit__(None, None, None)

    assert after == kept
    assert len([text for text in kept if "word3" in text]) == 1
    said = [text.splitlines()[0] for text in kept if "restarted" not in text]
    assert said == ["paint it", "Which colour?", WORDS]
