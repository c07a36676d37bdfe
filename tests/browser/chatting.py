"""Talks to a pack in the chat of an open page, as a person with a keyboard and a mouse does."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from playwright.async_api import Browser, Locator, expect

from tests.browser.looking import Looking, looking
from tests.path.dashboard.chatting import STATUS
from tests.path.dashboard.looking import Dashboard


@dataclass
class Chatting:
    """The chat of a pack in one window."""

    window: Looking

    @property
    def field(self) -> Locator:
        return self.window.page.get_by_role("textbox", name="Message")

    def message(self, text: str, by: str = "bot") -> Locator:
        """The messages of one side with this text in them."""
        return self.window.page.locator(f".said.{by}", has_text=text)

    async def said(self, text: str) -> Locator:
        """Wait until the bot's message with this text is shown; there is one of it."""
        await self.message(text).wait_for()
        return self.message(text)

    async def say(self, text: str) -> None:
        await self.field.fill(text)
        await self.field.press("Enter")

    async def press(self, name: str) -> None:
        await self.window.page.get_by_role("button", name=name, exact=True).click()

    async def idle(self) -> None:
        """Wait until nothing is at work: it may be tried again, and no line says how far it is."""
        await self.window.page.get_by_role("button", name="Try again").wait_for()
        for status in STATUS:
            await expect(self.message(status)).to_have_count(0)

    async def texts(self) -> list[str]:
        """The words of all messages, in order."""
        return await self.window.page.locator(".said .words").all_inner_texts()


@asynccontextmanager
async def chatting(
    browser: Browser, shown: Dashboard, pack: str = "notes"
) -> AsyncGenerator[Chatting]:
    """Open the chat of a pack in a window of its own."""
    async with looking(browser, shown) as window:
        await window.open(f"#/packs/{pack}/chat")
        yield Chatting(window)
