"""Finds the machine's Chromium, and starts it."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, Playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
MISSING = "There is no Chromium here (Debian: apt-get install chromium)."
_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")


@asynccontextmanager
async def launched(playwright: Playwright) -> AsyncGenerator[Browser]:
    """Start the browser, without a window."""
    assert CHROMIUM, MISSING
    browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)
    yield browser
    await browser.close()
