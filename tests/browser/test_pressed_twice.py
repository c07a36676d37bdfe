"""What a person has begun or asked for stays one thing: pressed twice, sent again, over a restart.

Source: issue 15, "Chat".
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, Request, Route, expect

from aouo.dashboard.rooms.chat import _PAGE
from tests.browser.chatting import Chatting, chatting
from tests.fakes.model_server import CallPart, Says
from tests.path.dashboard.looking import dashboard
from tests.path.lives import lasting_port
from tests.path.scripted import Lines
from tests.path.world import World


@asynccontextmanager
async def talking(world: World, browser: Browser) -> AsyncGenerator[Chatting]:
    async with dashboard(world) as shown, chatting(browser, shown) as chat:
        yield chat


async def unanswered(chat: Chatting, door: str) -> None:
    """Lose the answer to the next request of this door; the bot has it."""

    async def lost(route: Route) -> None:
        await route.fetch()
        await route.abort()

    await chat.window.page.route(f"**/{door}", lost, times=1)


async def told(chat: Chatting, text: str) -> None:
    """Wait until the chat says what is wrong."""
    await chat.window.page.locator("#view [role=alert]", has_text=text).wait_for()
    chat.window.problems.clear()


async def test_what_is_sent_again_after_a_lost_answer_is_said_once(
    world: World, browser: Browser
) -> None:
    async with talking(world, browser) as chat:
        await unanswered(chat, "messages")
        await chat.say("hello")
        await told(chat, "does not answer")
        await chat.window.page.reload()
        await expect(chat.field).to_have_value("hello")
        await chat.press("Send")
        await expect(chat.field).to_have_value("")
        await chat.idle()
        texts = await chat.texts()

    assert texts == ["hello", "hello"]


async def test_other_words_after_a_lost_answer_are_another_message(
    world: World, browser: Browser
) -> None:
    async with talking(world, browser) as chat:
        await unanswered(chat, "messages")
        await chat.say("one")
        await told(chat, "does not answer")
        await chat.say("two")
        await chat.message("two", "person").wait_for()
        await expect(chat.field).to_have_value("")
        said = await chat.window.page.locator(".said.person .words").all_inner_texts()

    assert said == ["one", "two"]


async def test_what_is_written_while_something_is_sent_stays(
    world: World, browser: Browser
) -> None:
    sends = asyncio.Event()

    async def slow(route: Route) -> None:
        await sends.wait()
        await route.continue_()

    async with talking(world, browser) as chat:
        await chat.window.page.route("**/messages", slow)
        await chat.say("one")
        await chat.field.press_sequentially(" two")
        sends.set()
        await chat.said("one")

        await expect(chat.field).to_have_value(" two")


async def test_a_tap_is_one_tap_however_it_is_made(world: World, browser: Browser) -> None:
    asks = CallPart("clarify", {"message": "Which colour?", "options": ["red"]})
    world.model.script = Lines((Says(calls=(asks,)), Says("Red it is.")))
    keys = list[str]()

    def sent(request: Request) -> None:
        if request.url.endswith("/taps"):
            keys.append(json.loads(request.post_data or "")["key"])

    async with talking(world, browser) as chat:
        page = chat.window.page
        page.on("request", sent)
        await chat.say("paint it")
        await chat.said("Which colour?")
        await page.route("**/taps", lambda route: route.abort(), times=1)
        await page.get_by_role("button", name="red").click()
        await told(chat, "does not answer")
        await page.get_by_role("button", name="red").dblclick()
        await chat.said("Red it is.")
        await chat.idle()

    assert len(keys) == 2
    assert len(set(keys)) == 1


async def test_stop_and_try_again_are_not_pressed_by_one_double_click(
    world: World, browser: Browser
) -> None:
    world.model.script = Lines(
        (Says("one two three " * 20, chunks=20, stall_after=10), Says("No."))
    )
    async with talking(world, browser) as chat:
        await chat.say("count")
        await chat.said("one two three")
        stop = chat.window.page.get_by_role("button", name="Stop")
        at = await stop.bounding_box()
        await stop.dblclick()
        await chat.said("Stopped.")
        world.model.release.set()
        await chat.idle()
        again = await chat.window.page.get_by_role("button", name="Try again").bounding_box()
        said = await chat.window.page.locator(".said.person .words").all_inner_texts()

    assert said == ["count", "/stop"]
    assert at
    assert again
    assert again["x"] + again["width"] < at["x"]


async def test_after_a_restart_the_page_says_what_to_do_and_keeps_what_was_begun(
    world: World, browser: Browser
) -> None:
    """Each start of the bot makes a new link."""
    port = lasting_port()
    async with dashboard(world, port) as shown:
        opened = chatting(browser, shown)
        chat = await opened.__aenter__()
        await chat.field.fill("half a sen")
    async with dashboard(world, port) as shown:
        await told(chat, "Run `aouo dashboard` in a terminal, and open the link that it prints")
        await chat.field.press_sequentially("tence")
        await chat.window.page.goto(str(shown.link))
        await chat.window.open("#/packs/notes/chat")
        await expect(chat.field).to_have_value("half a sentence")
        await chat.press("Send")
        await chat.said("half a sentence")
        await chat.window.open("#/usage")
        await chat.window.open("#/packs/notes/chat")
        await expect(chat.field).to_have_value("")
        chat.window.problems.clear()
        await opened.__aexit__(None, None, None)


async def test_a_page_goes_on_when_the_new_link_is_opened_beside_it(
    world: World, browser: Browser
) -> None:
    """With the place that is read, and with what is written and added."""
    port = lasting_port()
    async with dashboard(world, port) as shown:
        opened = chatting(browser, shown)
        chat = await opened.__aenter__()
        page = chat.window.page
        for number in range(_PAGE // 2 + 2):
            await chat.say(f"/id {number}")
            await expect(chat.field).to_have_value("")
        await chat.idle()
        await page.reload()
        await page.get_by_role("button", name="Show older messages").wait_for()
        await page.locator(".pane").evaluate("pane => { pane.scrollTop = 0; }")  # loads them, too
        await expect(page.locator(".said")).to_have_count(_PAGE + 4)
        await chat.field.fill("look")
        at = await page.locator(".pane").evaluate("pane => pane.scrollTop")
    async with dashboard(world, port) as shown:
        await told(chat, "aouo was started anew")
        beside = await page.context.new_page()
        await beside.goto(str(shown.link))
        await page.locator("#view [role=alert]").wait_for(state="hidden")
        stays = await page.locator(".pane").evaluate("pane => pane.scrollTop")
        file = {"name": "a.txt", "mimeType": "text/plain", "buffer": b"a"}
        await page.locator("input[type=file]").set_input_files([file])  # pyright: ignore[reportArgumentType]
        await chat.press("Send")
        await chat.message("look", "person").get_by_role("link", name="a.txt").wait_for()
        await chat.idle()
        chat.window.problems.clear()
        await opened.__aexit__(None, None, None)

    assert stays == at


async def test_who_reads_above_is_told_that_something_new_is_below(
    world: World, browser: Browser
) -> None:
    async with talking(world, browser) as chat:
        page = chat.window.page
        for _ in range(3):
            await chat.say("/help")
            await expect(chat.field).to_have_value("")  # and the end is shown
            await chat.idle()
        pane, below = page.locator(".pane"), page.get_by_role("button", name="New below")
        await expect(page.locator(".said")).to_have_count(6)
        await expect(below).to_be_hidden()
        await pane.evaluate(
            "pane => new Promise(scrolled => {"
            " pane.addEventListener('scroll', () => scrolled(), { once: true });"
            " pane.scrollTop = 100; })"
        )
        await page.evaluate(
            "() => fetch('/api/page').then(told => told.json()).then(({ header, token }) =>"
            " fetch('/api/chats/notes/messages', { method: 'POST', body: '{\"text\": \"hi\","
            ' "key": "k"}\', headers: { [header]: token } }))'
        )
        await below.wait_for()
        stays = await pane.evaluate("pane => pane.scrollTop")
        await chat.idle()
        await below.click()
        await expect(below).to_be_hidden()
        await expect(page.locator(".said").last).to_be_in_viewport()

    assert stays == 100
