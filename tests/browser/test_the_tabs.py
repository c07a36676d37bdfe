"""What each tab is for can be done there, in a real browser.

Source: issue 15, "What must work" and "Done when".
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from contextlib import closing

from playwright.async_api import Browser, Page, expect

from tests.browser.looking import looking
from tests.fakes.model_server import CallPart, Says
from tests.path.dashboard.looking import Dashboard, dashboard
from tests.path.looking import settled
from tests.path.schedules.scheduled import made
from tests.path.scripted import Lines, persist
from tests.path.world import ADA, World

ADAS = f"tg_{ADA}"
EVAL = """\
name: it greets
steps:
  - say: "hello"
    model: [{say: "Good morning."}]
    expect: {reply: morning}
"""


async def told(world: World, shown: Dashboard, *calls: CallPart) -> None:
    """One turn of Ada with notes, in which the model makes these calls."""
    world.model.script = Lines([Says(calls=calls), Says("kept")] if calls else [Says("kept")])
    await shown.bot.ask("/use notes")
    await shown.bot.ask("please keep it")
    await settled(shown.bot)


async def saved(page: Page, link: str) -> str:
    """What a link lets the person save."""
    async with page.expect_download() as download:
        await page.get_by_role("link", name=link, exact=True).first.click()
    return await asyncio.to_thread((await (await download.value).path()).read_text)


async def test_two_windows_that_edit_the_same_memory_lose_nothing(
    world: World, browser: Browser
) -> None:
    address = f"#/packs/notes/memory/{ADAS}"
    async with dashboard(world) as shown:
        await told(
            world,
            shown,
            CallPart("memory", {"target": "memory", "action": "append", "content": "- milk"}),
        )
        async with looking(browser, shown) as one, looking(browser, shown) as other:
            for window in (one, other):
                await window.open(address)
                await window.page.get_by_role("button", name="Edit MEMORY.md").click()
            texts = [window.page.get_by_label("Text of MEMORY.md") for window in (one, other)]
            await texts[0].fill("- tea")
            await texts[1].fill("- coffee")
            await one.page.get_by_role("button", name="Save", exact=True).click()
            over = other.page.get_by_role("button", name="Save mine over it")
            await over.wait_for()
            there = await other.page.locator("pre.there").inner_text()
            mine = await texts[1].input_value()
            await over.click()
            await one.page.locator("pre", has_text="- coffee").wait_for()
            await one.page.get_by_role("button", name="of MEMORY.md back").click()
            await other.page.locator("pre", has_text="- tea").first.wait_for()
        file = next(world.home.path.rglob(f"{ADAS}/**/MEMORY.md")).read_text()

    assert (there, mine) == ("- tea", "- coffee")
    assert file.strip() == "- tea"


async def test_rows_of_a_pack_are_sorted_filtered_paged_and_saved(
    world: World, browser: Browser
) -> None:
    async with dashboard(world) as shown:
        await told(world, shown, persist("save", data={"text": "note 0"}))
        rows = [(f"note {n}",) for n in range(1, 120)]
        with closing(sqlite3.connect(world.home.pack_database("notes", ADAS))) as connection:
            connection.executemany("INSERT INTO entries (text) VALUES (?)", rows)
            connection.commit()
        async with looking(browser, shown) as window:
            page = window.page
            await window.open(f"#/packs/notes/storage/{ADAS}/entries")
            first, status = page.locator("tbody tr").first, page.get_by_role("status")
            await page.get_by_role("button", name="id", exact=True).click()
            await first.get_by_text("note 0", exact=True).wait_for()
            await page.get_by_role("button", name="Next").click()
            await status.get_by_text("51–100 of 120").wait_for()
            await first.get_by_text("note 50", exact=True).wait_for()
            await page.get_by_label("Column").select_option("text")
            await page.get_by_label("Text to look for").fill("note 11")
            await page.keyboard.press("Enter")
            await status.get_by_text("1–11 of 11").wait_for()
            csv = await saved(page, "Save as CSV")

    assert len(csv.splitlines()) == 12
    assert "note 119" in csv


async def test_a_schedule_is_switched_off_and_on_and_run_now(
    world: World, browser: Browser
) -> None:
    async with dashboard(world) as shown:
        world.model.script = Lines()
        await made(shown.bot, in_s=86_400, pack="notes")
        async with looking(browser, shown) as window:
            page = window.page
            await window.open("#/packs/notes/schedules")
            await page.get_by_role("button", name="Switch off: plants").click()
            await page.get_by_role("button", name="Switch on: plants").click()
            await page.get_by_role("button", name="Switch off: plants").wait_for()
            await page.get_by_role("button", name="Run now: plants").click()
            await page.get_by_role("link", name="Its turn").click()
            await expect(page).to_have_title(re.compile("Turns · aouo$"))
            await page.get_by_text("Remind me to water the plants").first.wait_for(state="attached")


async def test_new_lines_of_the_log_come_by_themselves(world: World, browser: Browser) -> None:
    def line(event: str, level: str) -> str:
        fact = {"event": event, "level": level, "timestamp": "2026-03-01T12:00:00.000Z"}
        return json.dumps(fact) + "\n"

    world.home.log_file.parent.mkdir(exist_ok=True)
    world.home.log_file.write_text(line("once_upon", "info"))
    async with dashboard(world) as shown, looking(browser, shown) as window:
        page = window.page
        await window.open("#/logs")
        await page.get_by_text("once_upon").wait_for()
        await page.get_by_role("button", name="From warning").click()
        await page.get_by_text("once_upon").wait_for(state="detached")
        with world.home.log_file.open("a") as log:
            log.write(line("as_ever", "info") + line("<b>broken", "error"))
        await page.get_by_text("<b>broken").wait_for()
        lines = await page.get_by_role("log").locator("summary strong").all_inner_texts()

    assert lines == ["<b>broken"]


async def test_an_eval_is_run_and_says_how_it_ended(world: World, browser: Browser) -> None:
    pack = world.home.packs / "small"
    (pack / "evals").mkdir(parents=True)
    (pack / "pack.yml").write_text(
        "name: small\nversion: 0.1.0\ndisplay_name: Small\ndescription: It greets\n"
    )
    (pack / "evals" / "greets.yml").write_text(EVAL)
    async with dashboard(world) as shown, looking(browser, shown) as window:
        await window.open("#/packs/small/evals")
        await window.page.get_by_role("button", name="Run: it greets").click()
        await window.page.get_by_text("✓ passed").wait_for()
        await window.page.get_by_role("button", name="Steps: it greets").click()
        steps = await window.page.locator(".step").all_inner_texts()

    assert "Good morning." in steps[0]


async def test_settings_are_saved_and_what_waits_for_the_next_start_is_named(
    world: World, browser: Browser
) -> None:
    async with dashboard(world) as shown, looking(browser, shown) as window:
        page = window.page
        await window.open("#/settings")
        await page.get_by_label("Find a key").fill("telegram.max_parts")
        await page.get_by_label("telegram.max_parts", exact=True).fill("3")
        await page.get_by_label("Find a key").fill("log.format")
        await page.get_by_label("log.format", exact=True).select_option(label="json")
        await page.get_by_role("button", name="Save these 2 changes").click()
        status = page.get_by_role("status").filter(has_text="Saved.")
        await status.wait_for()
        said = await status.inner_text()
        file = json.loads(world.home.config.read_text())

    assert said == "Saved. In force now: telegram.max_parts. With the next start: log.format."
    assert (file["telegram"]["max_parts"], file["log"]["format"]) == (3, "json")


async def test_a_turn_of_the_list_is_opened_as_a_timeline(world: World, browser: Browser) -> None:
    async with dashboard(world) as shown:
        await told(world, shown, persist("save", data={"text": "plums"}))
        async with looking(browser, shown) as window:
            page = window.page
            await window.open("#/turns")
            await page.get_by_label("Pack").fill("notes")
            await page.get_by_role("button", name="Show").click()
            await page.wait_for_url("**pack=notes**")
            await page.locator("#view[data-shows*='pack=notes'] tbody a").first.click()
            tool = page.get_by_role("group").filter(has_text="tool persist")
            await tool.locator("summary").click()
            called = await tool.inner_text()
            every = await page.get_by_role("region", name="What happened").locator("tr").count()
            await page.get_by_role("button", name="Without steps").click()
            await page.locator("[aria-pressed=true]", has_text="Without steps").wait_for()
            fewer = await page.get_by_role("region", name="What happened").locator("tr").count()

    assert "plums" in called
    assert 1 < fewer < every


async def test_days_of_usage_are_chosen_and_saved(world: World, browser: Browser) -> None:
    async with dashboard(world) as shown:
        await told(world, shown)
        async with looking(browser, shown) as window:
            page = window.page
            await window.open("#/usage")
            await page.get_by_label("First day").fill("2026-01-01")
            await page.get_by_label("Last day").fill("2026-01-31")
            await page.get_by_role("button", name="Show").click()
            await page.get_by_text("Nothing was used on these days.").wait_for()
            await page.get_by_role("button", name="Today").click()
            await window.shown("#/usage?days=1")
            csv = await saved(page, "CSV")

    assert "scripted" in csv


async def test_the_audit_is_searched(world: World, browser: Browser) -> None:
    async with dashboard(world) as shown:
        await told(world, shown, persist("save", data={"text": "x"}), persist("summary"))
        async with looking(browser, shown) as window:
            page = window.page
            await window.open("#/security/audit")
            await page.get_by_label("Stage").select_option("EXECUTED")
            await page.get_by_label("Tool").fill("persist")
            await page.get_by_role("button", name="Show").click()
            await page.locator("#view[data-shows*='stage=EXECUTED'] tbody tr").nth(1).wait_for()
            stages = await page.locator("tbody tr td:nth-child(3)").all_inner_texts()
            await page.get_by_label("Tool").fill("nobody")
            await page.get_by_role("button", name="Show").click()
            await page.get_by_text("Nothing is like that").wait_for()

    assert stages == ["executed", "executed"]


async def test_people_are_called_by_their_names(world: World, browser: Browser) -> None:
    async with dashboard(world) as shown:
        await told(world, shown)
        await made(shown.bot, in_s=86_400, pack="notes")
        async with looking(browser, shown) as window:
            page, ada = window.page, f"Ada ({ADA})"
            await window.open("#/usage")
            await page.get_by_role("region", name="By person").get_by_text(ada).wait_for()
            await window.open("#/schedules")
            await page.get_by_text(f"for {ada}, in Telegram").wait_for()
            await window.open(f"#/turns?person={ADA}")
            await page.locator("tbody tr", has_text=ada).first.locator("a").click()
            await page.get_by_role("link", name=ada).click()
            await page.wait_for_url(f"**person={ADA}")


async def test_a_secret_is_not_read_over_the_shoulder(world: World, browser: Browser) -> None:
    async with dashboard(world) as shown, looking(browser, shown) as window:
        await window.open("#/settings")
        await window.page.get_by_label("Find a key").fill("dashboard.token")
        field = window.page.get_by_label("dashboard.token", exact=True)
        await field.fill("of the owner")
        shows = await field.evaluate("node => getComputedStyle(node).webkitTextSecurity")

    assert shows == "disc"
