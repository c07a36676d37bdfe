"""What a person sees of what they say in a chat of the page."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, Page, expect

from tests.browser.looking import looking
from tests.path.dashboard.looking import dashboard
from tests.path.world import World


@asynccontextmanager
async def talking(browser: Browser, world: World) -> AsyncGenerator[Page]:
    async with dashboard(world) as page, looking(browser, page) as window:
        await window.open("#/packs/notes")
        yield window.page


async def say(page: Page, text: str) -> None:
    answers = await page.locator(".said.bot").count()
    await page.fill("#say", text)
    await page.press("#say", "Escape")
    await page.press("#say", "Enter")
    await expect(page.locator(".said.bot")).to_have_count(answers + 1)
    await expect(page.locator(".status")).to_have_text("")


async def test_off_the_record_the_window_keeps_the_words_that_it_said(
    browser: Browser, world: World
) -> None:
    """However fast the answer erases them."""
    secrets = [f"secret {number}" for number in range(5)]
    async with talking(browser, world) as page:
        await say(page, "/otr")
        for secret in secrets:
            await say(page, secret)
        shown = await page.locator(".said.person .words").all_inner_texts()

    assert shown == ["/otr", *secrets]


async def test_what_is_not_tried_again_is_not_said_to_be(browser: Browser, world: World) -> None:
    async with dashboard(world) as shown, looking(browser, shown) as window:
        await window.open("#/packs/notes")
        page = window.page
        await page.route("**/api/chats/notes/commands", lambda route: route.abort())
        await page.fill("#say", "/")
        problem = page.get_by_role("alert").filter(has_text="aouo")
        await expect(problem).to_have_text("aouo does not answer.")
        await expect(page.locator(".pane .empty")).not_to_contain_text("Telegram")
        window.problems.clear()


async def test_who_says_something_sees_the_end_of_the_chat(browser: Browser, world: World) -> None:
    async with talking(browser, world) as page:
        for _ in range(4):
            await say(page, "/help")
        await page.locator(".pane").evaluate("pane => { pane.scrollTop = 0; }")
        await say(page, "hello")

        await expect(page.locator(".said.bot").last).to_be_in_viewport()


async def test_the_field_keeps_the_focus_when_a_button_goes(browser: Browser, world: World) -> None:
    async with talking(browser, world) as page:
        await say(page, "hello")
        await page.get_by_role("button", name="Try again").press("Enter")

        await expect(page.locator("#say")).to_be_focused()
