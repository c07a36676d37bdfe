"""The owner talks to a pack in a real browser, and sees what it does while it does it.

Source: issue 15, "Chat" and "Done when".
"""

from __future__ import annotations

import asyncio
from base64 import b64decode

from playwright.async_api import Browser

from tests.browser.chatting import chatting
from tests.browser.looking import looking
from tests.fakes.model_server import CallPart, Says
from tests.path.dashboard.chatting import scribe
from tests.path.dashboard.looking import dashboard
from tests.path.scripted import Lines
from tests.path.world import World

ODD = '<script>document.title = "x"</script><img src=x onerror="document.title=1"> \u202eאב'

PICTURE = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


def says(world: World, *lines: Says) -> None:
    """What the model says next, turn by turn; "ok" when it is asked for a title."""
    world.model.script = Lines(lines)


async def test_an_answer_grows_and_its_markup_becomes_elements(
    world: World, browser: Browser
) -> None:
    words = "**Plums** and `flour`, " + " ".join(f"word{n}" for n in range(120))
    says(world, Says(words, chunks=12, stall_after=6))
    async with dashboard(world) as shown, chatting(browser, shown) as chat:
        await chat.say("what do I need?")
        growing = await (await chat.said("word3")).inner_text()
        await chat.window.page.get_by_role("button", name="Stop").wait_for()
        world.model.release.set()
        whole = await chat.said("word119")
        await chat.idle()
        marked = [await whole.locator(tag).all_inner_texts() for tag in ("strong", "code")]
        field = await chat.field.input_value()
        messages = await chat.window.page.locator(".said").count()

    assert "word119" not in growing
    assert marked == [["Plums"], ["flour"]]
    assert (field, messages) == ("", 2)


async def test_what_is_said_stays_text_on_both_sides(world: World, browser: Browser) -> None:
    says(world, Says(f"I read {ODD}"))
    async with dashboard(world) as shown, chatting(browser, shown) as chat:
        await chat.say(ODD)
        await chat.said("I read")
        await chat.idle()
        texts = await chat.texts()
        made = await chat.window.page.locator(".said script, .said img").count()
        title = await chat.window.page.title()

    assert texts == [ODD, f"I read {ODD}".replace("\u202e", " ")]  # as Telegram does
    assert (made, title) == (0, "notes · Packs · aouo")


async def test_a_question_is_answered_by_a_tap_and_two_windows_see_the_same(
    world: World, browser: Browser
) -> None:
    asks = CallPart("clarify", {"message": "Which colour?", "options": ["red", "green"]})
    says(world, Says(calls=(asks,)), Says("Green it is."))
    async with (
        dashboard(world) as shown,
        chatting(browser, shown) as one,
        chatting(browser, shown) as other,
    ):
        await one.say("paint it")
        await other.said("Which colour?")
        await other.press("green")
        await one.said("Green it is.")
        await other.said("Green it is.")
        await one.idle()
        await other.idle()
        both = [await one.texts(), await other.texts()]
        await one.window.page.reload()
        await one.said("Green it is.")
        after = await one.texts()
        left = await one.message("Which colour?").get_by_role("button").count()

    assert both[0] == both[1] == after
    assert [text.splitlines()[0] for text in after] == [
        "paint it",
        "Which colour?",
        "Green it is.",
    ]
    assert left == 0


async def test_the_owner_allows_in_the_chat_or_in_security_and_gets_the_file(
    world: World, browser: Browser
) -> None:
    folder = scribe(world)
    file = str(folder / "report.txt")
    write = CallPart("write_file", {"path": file, "content": "all is well"})
    send = CallPart("msg", {"type": "document", "url": file, "text": "The report."})
    says(world, Says(calls=(write,)), Says("Written."), Says(calls=(send,)), Says("Sent."))
    async with dashboard(world) as shown, chatting(browser, shown, "scribe") as chat:
        await chat.say("write it down")
        await chat.press("Allow once")
        await chat.said("Written.")
        await chat.idle()
        async with looking(browser, shown) as window:
            await window.open("#/security")
            await chat.say("give it to me")
            await window.page.get_by_role("link", name="Security (1)").wait_for()
            await window.page.get_by_role("button", name="Allow once").click()
            await window.page.get_by_text("Decided: allowed once.").wait_for()
            await window.page.get_by_role("link", name="Security", exact=True).wait_for()
        await chat.said("Sent.")
        async with chat.window.page.expect_download() as download:
            await chat.window.page.get_by_role("link", name="report.txt").click()
        had = await asyncio.to_thread((await (await download.value).path()).read_text)
        left = await chat.window.page.locator(".keys button").all_inner_texts()

    assert had == "all is well"
    assert left == ["Undo"]


async def test_stop_ends_an_answer_and_try_again_gives_another(
    world: World, browser: Browser
) -> None:
    says(world, Says("one two three " * 20, chunks=20, stall_after=10), Says("Another."))
    async with dashboard(world) as shown, chatting(browser, shown) as chat:
        await chat.say("count")
        await chat.said("one two three")
        await chat.press("Stop")
        await chat.said("Stopped.")
        world.model.release.set()
        await chat.press("Try again")
        await chat.said("Another.")
        await chat.idle()
        texts = await chat.texts()

    assert "one two three" in texts[1]
    assert len(texts[1]) < 280


async def test_a_picture_that_is_added_is_sent_and_shown(world: World, browser: Browser) -> None:
    says(world, Says("Plums."))
    async with dashboard(world) as shown, chatting(browser, shown) as chat:
        picture = {"name": "<b>plums.png", "mimeType": "image/png", "buffer": PICTURE}
        await chat.window.page.locator("input[type=file]").set_input_files([picture])  # pyright: ignore[reportArgumentType]
        await chat.window.page.get_by_role("button", name="Leave out <b>plums.png").wait_for()
        await chat.say("what is it?")
        await chat.said("Plums.")
        await chat.window.page.wait_for_function(
            "() => document.querySelector('.said.person img')?.naturalWidth > 0"
        )
        named = await chat.window.page.locator(".said.person img").get_attribute("alt")
        chips = await chat.window.page.locator(".chips li").count()
        content = world.model.requests[0]["messages"][-1]["content"]

    assert (named, chips) == ("b_plums.png", 0)
    assert any(part["type"] == "image_url" for part in content)


async def test_a_command_is_found_and_said_by_keyboard_alone(
    world: World, browser: Browser
) -> None:
    async with dashboard(world) as shown, chatting(browser, shown) as chat:
        page, keyboard = chat.window.page, chat.window.page.keyboard
        await chat.field.focus()
        await keyboard.type("/he")
        option = page.get_by_role("option", selected=True)
        await option.wait_for()
        first = await option.inner_text()
        active = await chat.field.get_attribute("aria-activedescendant")
        named = await option.get_attribute("id")
        await keyboard.press("Enter")
        taken = await chat.field.input_value()
        await keyboard.press("Enter")
        await chat.said("/retry")
        focus = await page.evaluate("document.activeElement.id")
        await keyboard.type("/")
        await page.get_by_role("option").nth(1).wait_for()
        await keyboard.press("ArrowDown")
        second = await page.get_by_role("option").nth(1).get_attribute("aria-selected")
        await keyboard.press("Escape")
        options = await page.get_by_role("option").count()

    assert first.startswith("/help ")
    assert (active, taken, focus) == (named, "/help ", "say")
    assert (second, options) == ("true", 0)
