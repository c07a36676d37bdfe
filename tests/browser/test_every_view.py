"""Every view that a link of the page leads to can be read, by everybody, on any screen."""

from __future__ import annotations

import json

import pytest
from playwright.async_api import Browser

from tests.browser.looking import DESK, PHONE, Looking, looking
from tests.fakes.model_server import CallPart, Says
from tests.path.dashboard.chatting import WebChat
from tests.path.dashboard.looking import Dashboard, dashboard
from tests.path.looking import eventually, settled
from tests.path.schedules.scheduled import made
from tests.path.scripted import Lines, persist
from tests.path.world import World

VIEWS_MAX = 60
MARKUP = '<img src=x onerror="document.title=1">'
SAID = f"{MARKUP}\u202e & hello"


async def seeded(world: World, shown: Dashboard) -> None:
    """Something to see in each view: rows, memory, a schedule, lines, a question that waits."""
    odd = SAID[:60]
    remember = CallPart("memory", {"target": "memory", "action": "append", "content": f"- {odd}"})
    ask = CallPart("clarify", {"message": f"Which colour? {odd}", "options": [odd, "green"]})
    keep = persist("save", data={"text": odd, "tags": "garden"})
    words = f"**Kept** `{odd}`\n```\n{'x' * 300}\n```\n[plums](https://example.org)"
    lines = [Says(calls=(keep, remember)), Says(words), Says(words), Says(calls=(ask,))]
    world.model.script = Lines(lines)
    event = {"event": "plums_kept", "level": "error", "timestamp": "2026-03-01T12:00:00.000Z"}
    world.home.log_file.parent.mkdir(exist_ok=True)
    world.home.log_file.write_text(json.dumps({**event, "pack": "notes", "exception": SAID}) + "\n")
    await made(shown.bot, in_s=86_400, pack="notes", prompt=SAID, name=odd)
    await shown.bot.ask("/use notes")
    await shown.bot.ask(SAID)
    await settled(shown.bot)
    chat = WebChat(shown, "notes")
    await chat.say(SAID)
    await settled(shown.bot)
    await chat.say("paint it")
    await eventually(lambda: shown.bot.rows("SELECT 1 FROM gates WHERE state = 'open'"))


async def views(window: Looking) -> list[str]:
    """Follow all links to views; return their addresses, each view shown once."""
    found, ahead = list[str](), ["#/usage"]
    while ahead and len(found) < VIEWS_MAX:
        address = ahead.pop(0)
        found.append(address)
        await window.open(address)
        ahead += [one for one in await window.look("links") if one not in [*found, *ahead]]
    assert ahead == [], "More views than were thought of."
    return found


@pytest.mark.parametrize(("width", "dark"), [(DESK, False), (DESK, True), (PHONE, False)])
async def test_it_can_be_read(world: World, browser: Browser, width: int, dark: bool) -> None:
    async with dashboard(world) as shown:
        await seeded(world, shown)
        async with looking(browser, shown, width=width, dark=dark) as window:
            faults = dict[str, list[str]]()
            for address in await views(window):
                await window.open(address)
                for ask in ("pale", "wide", "nameless"):
                    if found := await window.look(ask):
                        faults[f"{address} {ask}"] = found

    assert faults == {}


@pytest.mark.parametrize("address", ["#/usage", "#/turns"])
async def test_money_is_in_view_on_a_phone(world: World, browser: Browser, address: str) -> None:
    async with dashboard(world) as shown:
        await seeded(world, shown)
        async with looking(browser, shown, width=PHONE) as window:
            await window.open(address)
            columns = await window.look("columns")

    assert "Cost" in columns


async def test_the_keyboard_alone_reaches_everything(world: World, browser: Browser) -> None:
    async with dashboard(world) as shown:
        await seeded(world, shown)
        async with looking(browser, shown) as window:
            faults = dict[str, list[str]]()
            for address in await views(window):
                await window.open(address)
                if found := await window.reached_by_tab():
                    faults[address] = found

    assert faults == {}


async def test_what_a_name_holds_stays_text(world: World, browser: Browser) -> None:
    pack = world.home.packs / "odd"
    pack.mkdir()
    (pack / "pack.yml").write_text(
        json.dumps({"name": "odd", "version": "1.0.0", "display_name": MARKUP})
    )
    async with dashboard(world) as shown, looking(browser, shown) as window:
        await window.open("#/packs")
        text = await window.page.inner_text("#view")
        title = await window.page.title()
        pictures = await window.page.locator("#view img").count()

    assert (MARKUP in text, title, pictures) == (True, "Packs · aouo", 0)
