"""Takes the moving picture and the four small ones of the README from the running program.

`.venv/bin/python -m scripts.film`; needs Chromium, and a minute for a reminder to come. The program
is a process of its own that is killed meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import struct
import sys
import tempfile
import zlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Page, async_playwright

from aouo.emulator import ADA
from aouo.packs.authoring import make
from aouo.packs.shipping.archive import pack_archive
from aouo.plumbing.home import Home
from tests.browser.browsing import launched
from tests.fakes.telegram import LocalTelegram

DOCS = Path(__file__).parents[1] / "docs"
PACKS = ("create", "expenses", "feeds", "notes", "remind", "vocab")
_WIDTH, _HEIGHT = 390, 640
_COMES_MS = 90_000
_LINE = "remind me in 1 minute to look at the tea"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="aouo-film-") as folder:
        asyncio.run(_take(Path(folder)))


async def _take(folder: Path) -> None:
    home, frames = Home(folder / "home"), list[tuple[bytes, float]]()
    home.create()
    for pack in PACKS:
        (home.packs / pack).symlink_to(DOCS.parent / "packs" / pack)
    async with (
        LocalTelegram() as emulator,
        async_playwright() as playwright,
        launched(playwright) as browser,
    ):
        config = {
            "telegram": {
                "bot_token": emulator.token,
                "allowed_user_ids": [ADA],
                "api_base_url": emulator.base_url,
            },
            "packs": {"default": "notes"},
        }
        home.config.write_text(json.dumps(config))
        context = await browser.new_context(viewport={"width": _WIDTH, "height": _HEIGHT})
        page = await context.new_page()
        await page.goto(f"{emulator.base_url}/#chat={ADA}&as={ADA}")

        async def shoot(seconds: float, name: str = "", caption: str = "") -> None:
            await page.evaluate(
                "text => { const b = document.querySelector('#banner');"
                "b.textContent = text; b.hidden = !text; }",
                caption,
            )
            picture = await page.screenshot()
            frames.append((picture, seconds))
            if name:
                (DOCS / "images" / f"{name}.png").write_bytes(picture)

        async with _program(home) as process:
            await shoot(1.5)
            await page.click("#begin")
            await _shows(page, "Tap one for a tour")
            await _tap(page, "🧠 Vocab")
            await _shows(page, "each at the right time")
            await shoot(1.5, "tour")
            await _tap(page, "la casa = the house")
            await _tap(page, "el gato = the cat")
            await _tap(page, "Study")
            await _shows(page, "That was the tour")
            await shoot(2, "words")
            await _tap(page, "End the tour")
            for line in ("lunch 9.80 €", "spent 45 on groceries", "taxi 14 €"):
                await _say(page, line)
                await _shows(page, "This month")
            await shoot(1.5)
            await _say(page, "show me a chart")
            await page.wait_for_selector("img.photo")
            await asyncio.sleep(0.5)
            await shoot(2, "chart")
            shopping = folder / "shopping.aouo"
            pack_archive(make("shopping", folder / "new")[0], shopping)
            await page.set_input_files("#file", shopping)
            await _shows(page, "Install shopping")
            await shoot(2, "card")
            await _say(page, _LINE)
            await _shows(page, "I will say")
            await shoot(1.5)
            process.send_signal(signal.SIGKILL)
            await process.wait()
            await shoot(1.5, caption="kill -9")
        async with _program(home):
            await shoot(1, caption="started again")
            snooze = page.locator(".keyboard button", has_text="10 minutes").last
            await snooze.wait_for(timeout=_COMES_MS)
            await asyncio.sleep(0.5)
            await shoot(3, caption="and the reminder comes")
    (DOCS / "minute.png").write_bytes(_moving(frames))


@asynccontextmanager
async def _program(home: Home) -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "aouo", "start", "--home", str(home.path)),
        env={**os.environ, "PYTHONPATH": str(DOCS.parent)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await asyncio.sleep(2)
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()


async def _say(page: Page, text: str) -> None:
    await page.fill("#text", text)
    await page.keyboard.press("Enter")


async def _tap(page: Page, label: str) -> None:
    button = page.locator(".keyboard button", has_text=label).last
    await button.wait_for()
    await button.click()


async def _shows(page: Page, text: str) -> None:
    await page.locator(".bubble", has_text=text).last.wait_for()
    await asyncio.sleep(0.6)  # what follows it is drawn, too


def _moving(frames: Sequence[tuple[bytes, float]]) -> bytes:
    """Return PNGs of one size as one that moves. Source: PNG 3, animation chunks."""
    first = frames[0][0]
    out = [first[:8], _chunk(b"IHDR", first[16:29])]
    out.append(_chunk(b"acTL", struct.pack(">II", len(frames), 0)))
    number = 0
    for index, (picture, seconds) in enumerate(frames):
        size = struct.unpack(">II", picture[16:24])
        delay = struct.pack(">HHBB", round(seconds * 1000), 1000, 0, 0)
        out.append(_chunk(b"fcTL", struct.pack(">IIIII", number, *size, 0, 0) + delay))
        number += 1
        data = b"".join(body for kind, body in _chunks(picture) if kind == b"IDAT")
        data = zlib.compress(zlib.decompress(data), 9)
        if index:
            out.append(_chunk(b"fdAT", struct.pack(">I", number) + data))
            number += 1
        else:
            out.append(_chunk(b"IDAT", data))
    return b"".join((*out, _chunk(b"IEND", b"")))


def _chunks(picture: bytes) -> list[tuple[bytes, bytes]]:
    found, at = list[tuple[bytes, bytes]](), 8
    while at < len(picture):
        (length,) = struct.unpack(">I", picture[at : at + 4])
        found.append((picture[at + 4 : at + 8], picture[at + 8 : at + 8 + length]))
        at += 12 + length
    return found


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


if __name__ == "__main__":
    main()
