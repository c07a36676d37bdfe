"""A first minute on the chat page, by clicks and by the keyboard alone: START, a tour, words that
become money and a chart, an app installed by its card. Source: issue 28."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from playwright.async_api import Browser, Page, expect

from aouo.packs.authoring import make
from aouo.packs.shipping.archive import pack_archive
from tests.fakes.clock import FastClock
from tests.path.world import ADA, ROOT, World


@pytest.fixture
async def six(world: World) -> World:
    for pack in ("create", "expenses", "feeds", "remind"):
        (world.home.packs / pack).symlink_to(ROOT / "packs" / pack)
    telegram = {"allowed_user_ids": [ADA], "message_batch_ms": 0}
    world.config = {
        "provider": {"backend": "none"},
        "packs": {"default": "notes"},
        "telegram": telegram,
    }
    world.clock = FastClock(speed=1)
    return world


async def says(page: Page, words: str) -> None:
    await page.keyboard.type(words)
    await page.keyboard.press("Enter")


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
async def test_the_minute(
    six: World, browser: Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    shopping, clock = tmp_path / "shopping.aouo", cast("FastClock", six.clock)
    pack_archive(make("shopping", tmp_path / "new")[0], shopping)
    async with six.running():
        context = await browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        page = await context.new_page()
        await page.goto(f"{six.emulator.base_url}/#chat={ADA}&as={ADA}")
        await expect(page.locator("#chips button")).to_have_count(3)
        await page.locator("#begin").click()
        await page.locator(".keyboard button", has_text="Vocab").last.click()
        for label in ("la casa = the house", "el gato = the cat", "Study", "End the tour"):
            await page.locator(".keyboard button", has_text=label).last.click()
        await expect(page.locator(".bubble", has_text="The tour is over").last).to_be_visible()

        await page.locator("#text").focus()
        await says(page, "lunch 9.80 €")
        await expect(page.locator(".bubble", has_text="9.80 € (Eating out)").last).to_be_visible()
        await says(page, "show me a chart")
        await expect(page.locator("img.photo").last).to_be_visible()
        await says(page, "remind me in 1 minute to breathe")
        await expect(page.locator(".bubble", has_text="I will say “Breathe”")).to_be_visible()
        clock.jump(61)
        came = page.locator(".column", has_text="Breathe").filter(has_text="Done")
        await expect(came.last).to_be_visible()
        await says(page, "/under")
        await expect(page.locator(".bubble", has_text="I do not know /under").last).to_be_visible()

        await page.set_input_files("#file", shopping)
        await page.locator(".keyboard button", has_text="Install").last.click()
        await expect(page.locator(".bubble", has_text="is installed, version").last).to_be_visible()
        head = await page.locator("#head").bounding_box()
        wide = await page.evaluate("document.documentElement.scrollWidth")
        await context.close()

    assert head is not None
    assert head["height"] < 60
    assert wide <= width


async def reach(page: Page, label: str) -> None:
    """Press Tab until a button of the chat with this label has the focus, then Enter."""
    active = "() => document.activeElement.matches('.keyboard *, #begin') ? " + (
        "document.activeElement.innerText : ''"
    )
    for _ in range(60):
        await page.keyboard.press("Tab")
        if label in await page.evaluate(active):
            await page.keyboard.press("Enter")
            return
    raise AssertionError(f"no way to {label!r} by Tab")


async def test_the_minute_by_keyboard_alone(six: World, browser: Browser) -> None:
    async with six.running():
        page = await browser.new_page(viewport={"width": 1280, "height": 800})
        await page.goto(f"{six.emulator.base_url}/#chat={ADA}&as={ADA}")
        await expect(page.locator("#begin")).to_be_visible()
        await reach(page, "START")
        await expect(page.locator(".keyboard button", has_text="Vocab").last).to_be_visible()
        for label in ("Vocab", "la casa = the house", "End the tour"):
            await expect(page.locator(".keyboard button", has_text=label).last).to_be_visible()
            await reach(page, label)
        await expect(page.locator(".bubble", has_text="The tour is over").last).to_be_visible()
        await page.locator("#text").press("l")
        await says(page, "unch 9.80 €")
        await expect(page.locator(".bubble", has_text="9.80 € (Eating out)").last).to_be_visible()
        await page.close()
