"""The first view says what was said, what waits, what comes and what it cost; the owner answers
there, on a phone too.

Source: issue 29, "The page's first view is Today".
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.async_api import Browser

from tests.browser.looking import looking
from tests.browser.test_every_view import SAID, seeded
from tests.path.dashboard.looking import dashboard
from tests.path.looking import eventually
from tests.path.world import ADA, World


@pytest.mark.parametrize("width", [390, 1280])
async def test_a_stranger_is_let_in_and_what_was_said_is_there(
    world: World, browser: Browser, width: int
) -> None:
    world.config = {"telegram": {"allowed_user_ids": [ADA]}}
    async with dashboard(world) as shown:
        await seeded(world, shown)
        cleo = await shown.bot.people.create_user("Cleo")
        await shown.bot.people.say(cleo, cleo, "hello?")
        await shown.bot.people.next_message(ADA, contains="Let Cleo in?")
        async with looking(browser, shown, width=width) as window:
            await window.open("#/today")
            page = window.page
            said = await page.get_by_role("region", name="What was said").inner_text()
            next_up = await page.get_by_role("region", name="What comes next").inner_text()
            tab = await page.get_by_role("link", name="Today (2)").count()
            waits = await page.get_by_text("Which colour?").count()
            if folder := os.environ.get("AOUO_PICTURES"):
                await page.screenshot(path=Path(folder) / f"today-{width}.png", full_page=True)
            await page.get_by_role("button", name="Let in").click()
            await page.get_by_text("Cleo is let in.").wait_for()
            faults = {one: await window.look(one) for one in ("pale", "wide", "nameless")}
        rows = await shown.bot.rows("SELECT person, role FROM people")
        await shown.bot.people.next_message(cleo, contains="The owner has let you in")

    assert "paint it" in said
    assert SAID[:20] in said
    assert SAID[:20] in next_up
    assert (tab, waits > 0) == (1, True)
    assert rows == [{"person": str(cleo), "role": "member"}]
    assert faults == {"pale": [], "wide": [], "nameless": []}


@pytest.mark.parametrize("width", [390, 1280])
async def test_a_pack_is_installed_from_the_page_by_its_card_and_removed(
    world: World, browser: Browser, width: int
) -> None:
    async with dashboard(world) as shown, looking(browser, shown, width=width) as window:
        await window.open("#/packs")
        page = window.page
        await page.get_by_role("button", name="Install or upgrade").click()
        await window.shown("#/chat")
        await page.get_by_role("button", name="Expenses").click()
        await page.get_by_text("It comes with aouo.").wait_for()
        await page.get_by_role("button", name="Install", exact=True).click()
        installed = "SELECT 1 FROM installs WHERE pack = 'expenses'"
        await eventually(lambda: shown.bot.rows(installed))
        await window.open("#/packs/expenses/about")
        await page.get_by_role("button", name="Remove", exact=True).click()
        await page.get_by_role("button", name="Yes, remove expenses").click()
        await window.shown("#/packs")
        left = await shown.bot.rows(installed)
        # Its view may have looked once more before it was left.
        window.problems[:] = [one for one in window.problems if "404" not in one]

    assert left == []


async def test_the_services_are_listed_and_tested(world: World, browser: Browser) -> None:
    async with dashboard(world) as shown, looking(browser, shown) as window:
        await window.open("#/settings/services")
        page = window.page
        await page.get_by_text("fake scripted: one small question").wait_for()
        await page.get_by_role("button", name="Test", exact=True).click()
        await page.get_by_text("The newest test").wait_for(timeout=60_000)
        told = await page.locator("#view").inner_text()

    assert "telegram" in told
    assert "model fake" in told
