"""Takes the pictures of the README from a home with a made-up past.

`.venv/bin/python -m scripts.screenshots [ADDRESS=NAME]…`, for instance `#/usage=usage`; needs
Chromium. The PNGs are in docs/images/.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, async_playwright

from aouo.emulator import ADA, BEN
from aouo.plumbing.home import Home
from scripts.past import put_past
from tests.browser.browsing import launched
from tests.browser.looking import looking
from tests.fakes.model_server import ModelServer, Says
from tests.fakes.telegram import LocalTelegram
from tests.path.dashboard.looking import dashboard
from tests.path.looking import settled
from tests.path.scripted import Lines, persist
from tests.path.world import ROOT, World

IMAGES = ROOT / "docs" / "images"
SHOWN = {
    "#/usage": "usage",
    "#/packs/notes/storage": "workspace",
    "TURN": "turn",
}
"""Addresses of views; TURN is the first link to a turn on #/turns."""
_WIDTH, _HEIGHT, _HIGHEST = 1200, 760, 1500
_THOUGHT_S = 0.7
_NOTES = {
    "The bees come on Friday": "garden",
    "Joan has our long ladder": "house,lent",
    "The roof leaks above the stairs": "house,urgent",
    "Plum cake: 3 eggs, 200 g flour": "recipe",
    "Ben needs new boots by winter": "family",
    "Seed potatoes go in after 10 April": "garden",
    "The boiler was serviced in March": "house",
    "Library books are due on the 28th": "family",
}
_HOUSE: dict[str, Any] = {
    "provider": {"backend": "mistral", "model": "mistral-small-latest"},
    "budgets": {
        "daily_usd": 2,
        "prices": {"mistral-small-latest": {"input": 0.1, "output": 0.3}},
    },
    "advanced": {"session_tokens_max": 5_000_000},
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts.screenshots", description=__doc__)
    parser.add_argument("shown", nargs="*", metavar="ADDRESS=NAME")
    asked = parser.parse_args().shown
    shown = dict(one.rsplit("=", 1) for one in asked) or SHOWN
    with tempfile.TemporaryDirectory(prefix="aouo-shots-") as folder:
        asyncio.run(_take(Path(folder), shown))


async def _take(folder: Path, shown: dict[str, str]) -> None:
    home, lines = Home(folder / "home"), Lines()
    home.create()
    async with (
        LocalTelegram() as emulator,
        ModelServer(lines) as model,
        async_playwright() as playwright,
        launched(playwright) as browser,
    ):
        world = World(home, emulator, model)
        world.install("notes", "vocab")
        service = {"base_url": model.base_url, "api_key": "key"}
        world.config = {**_HOUSE, "providers": {"mistral": service}}
        people = [(ADA, "Ada"), (BEN, "Ben")]
        await asyncio.to_thread(
            put_past, home.database, people, packs=("notes", "vocab"), count=600, uses=4
        )
        await _show(world, lines, browser, shown)


async def _show(world: World, lines: Lines, browser: Browser, shown: dict[str, str]) -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    async with dashboard(world) as page:
        await page.bot.ask("/use notes")
        for text, tags in _NOTES.items():
            note = {"text": text, "tags": tags}
            answer = f"I keep it under {tags}."
            keep = persist("save", table="entries", data=note)
            lines.append(Says(calls=(keep,), usage=(2_310, 1_920, 46), chunks=4, stall_after=2))
            lines.append(Says(answer, usage=(2_402, 2_304, 14), chunks=4, stall_after=2))
            async with asyncio.TaskGroup() as group:
                group.create_task(_think(world))
                await page.bot.ask(f"Note: {text}")
            await settled(page.bot)
        async with looking(browser, page, width=_WIDTH, height=_HEIGHT) as window:
            for address, name in shown.items():
                found = await _turn(window.page) if address == "TURN" else address
                await window.open(found)
                if address == "TURN":
                    await window.page.get_by_role("button", name="Without steps").click()
                file = IMAGES / f"{name}.png"
                high = await window.page.evaluate("() => document.documentElement.scrollHeight")
                await window.page.screenshot(
                    path=file,
                    full_page=True,
                    clip={"x": 0, "y": 0, "width": _WIDTH, "height": min(high, _HIGHEST)},
                )
                print(f"{file.relative_to(ROOT)}: {file.stat().st_size // 1000} KB")


async def _think(world: World) -> None:
    """Let the model take its time for the two calls of a turn."""
    for _ in range(2):
        await world.model.stalled.wait()
        world.model.stalled.clear()
        await asyncio.sleep(_THOUGHT_S)
        world.model.release.set()
        world.model.release.clear()


async def _turn(page: Page) -> str:
    await page.evaluate("() => { location.hash = '#/turns'; }")
    link = page.locator("#view a[href^='#/turns/']").first
    return await link.get_attribute("href") or ""


if __name__ == "__main__":
    main()
