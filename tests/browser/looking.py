"""Looks at the page in a real browser, and at what the browser complains about."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, ConsoleMessage, Page, Request, Response
from yarl import URL

from tests.path.dashboard.looking import Dashboard

PATIENCE_MS = 20_000
DESK, PHONE = 1200, 380
_STEPS_MAX = 500
_LOOKS = Path(__file__).with_name("looks.js").read_text("utf-8")


@dataclass
class Looking:
    """A window at the page of `dashboard`; `page` is Playwright's.

    `problems` are what no test should see: errors in the console, answers from 500 on, requests
    that leave the machine. The end of `looking` asserts that there are none; a test that expects
    one takes it out.
    """

    page: Page
    link: URL
    problems: list[str] = field(default_factory=list[str])

    async def open(self, address: str = "#/usage") -> None:
        """Go to a view such as "#/packs/notes", and wait until it is shown."""
        await self.page.evaluate("address => { location.hash = address; }", address)
        await self.shown(address)

    async def shown(self, address: str) -> None:
        """Wait until the view of an address is shown."""
        await self.page.wait_for_function(
            "address => document.getElementById('view')?.dataset.shows === address", arg=address
        )

    async def look(self, name: str) -> Any:
        """Return what a function of looks.js finds."""
        return await self.page.evaluate(f"() => looks.{name}()")

    async def reached_by_tab(self) -> list[str]:
        """Return what Tab does not reach, and what does not show that it has the focus."""
        found = list[str]()
        await self.look("startTabbing")
        for _ in range(_STEPS_MAX):
            if not (step := await self._tabbed()):
                break
            found += step["faults"]
        return [*found, *await self.look("endTabbing")]

    async def _tabbed(self) -> dict[str, Any] | None:
        await self.page.keyboard.press("Tab")
        return await self.look("tabbed")


@asynccontextmanager
async def looking(
    browser: Browser,
    dashboard: Dashboard,
    *,
    width: int = DESK,
    height: int = 900,
    dark: bool = False,
    calm: bool = False,
) -> AsyncGenerator[Looking]:
    """Open the link in a window of its own. `calm`: the person wants no motion."""
    context = await browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce" if calm else "no-preference",
        locale="en-US",
        timezone_id="UTC",
    )
    context.set_default_timeout(PATIENCE_MS)
    await context.add_init_script(_LOOKS)
    try:
        window = Looking(await context.new_page(), dashboard.link)
        _watch(window)
        await window.page.goto(str(dashboard.link))
        await window.shown("")
        yield window
        assert window.problems == []
    finally:
        await context.close()


def _watch(window: Looking) -> None:
    origin = str(window.link.origin())

    def console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            window.problems.append(f"console: {message.text}")

    def requested(request: Request) -> None:
        if not request.url.startswith((origin, "blob:")):
            window.problems.append(f"leaves the machine: {request.url}")

    def answered(response: Response) -> None:
        if response.status >= 500:
            window.problems.append(f"{response.status}: {response.url}")

    window.page.on("console", console)
    window.page.on("pageerror", lambda error: window.problems.append(f"error: {error}"))
    window.page.on("request", requested)
    window.page.on("response", answered)
