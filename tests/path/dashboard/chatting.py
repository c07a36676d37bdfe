"""Talks to a bot on its page, as the page itself does: over HTTP, with a window that listens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

from aiohttp import ClientResponse
from yarl import URL

from tests.path.dashboard.looking import Dashboard
from tests.path.looking import eventually
from tests.path.world import WAIT_S, World

STATUS = ("Thinking…", "Working: ")
_keys = count()


@dataclass
class Window:
    """One page that shows a chat: what it shows now, by the messages' ids, and all it was told."""

    messages: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])
    told: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    last: str = "0"

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.told]

    @property
    def texts(self) -> list[tuple[str, str]]:
        """(who, text) of what it shows, in order."""
        shown = [self.messages[number] for number in sorted(self.messages)]
        return [(one["by"], one["text"]) for one in shown if one["state"] != "deleted"]

    async def until(self, text: str) -> dict[str, Any]:
        """Wait until the bot's message with this text is shown; return it."""

        async def look() -> list[dict[str, Any]]:
            found = self.messages.values()
            return [one for one in found if one["by"] == "bot" and text in one["text"]]

        return (await eventually(look))[0]

    async def until_told(self, kind: str) -> dict[str, Any]:
        async def look() -> list[dict[str, Any]]:
            return [data for name, data in self.told if name == kind]

        return (await eventually(look))[0]

    async def listen(self, response: ClientResponse) -> None:
        event, number = "", ""
        async for raw in response.content:
            line = raw.decode().rstrip("\n")
            name, _, value = line.partition(": ")
            if name == "event":
                event = value
            elif name == "id":
                number = value
            elif name == "data":
                data = json.loads(value)
                self.told.append((event, data))
                if event == "message":
                    self.messages[data["id"]] = data
                    self.last = number


@dataclass
class WebChat:
    """One chat of the page."""

    page: Dashboard
    name: str

    @property
    def path(self) -> str:
        return f"/api/chats/{self.name}"

    async def read(self, before: int = 0) -> dict[str, Any]:
        status, facts = await self.page.get(f"{self.path}?before={before}")
        assert status == 200, facts
        return facts

    async def texts(self) -> list[tuple[str, str]]:
        return [(one["by"], one["text"]) for one in (await self.read())["messages"]]

    async def say(self, text: str, *, key: str = "", files: str = "") -> int:
        body = {"text": text, "key": key or f"k{next(_keys)}", "files": files}
        status, facts = await self.page.send("POST", f"{self.path}/messages", body)
        assert status == 200, facts
        return facts["id"]

    async def tap(self, message: dict[str, Any], label: str, *, key: str = "") -> None:
        rows = message["buttons"]
        data = next(one["data"] for row in rows for one in row if one["label"] == label)
        body = {"message": message["id"], "data": data, "key": key or f"k{next(_keys)}"}
        status, facts = await self.page.send("POST", f"{self.path}/taps", body)
        assert status == 200, facts

    async def upload(self, name: str, content: bytes) -> tuple[int, dict[str, Any]]:
        headers = {"X-Aouo-Token": self.page.token}
        address = self.page.link.join(URL(f"{self.path}/files")).with_query(name=name)
        async with self.page.client.post(
            address, data=BytesIO(content), headers=headers
        ) as response:
            return response.status, await response.json()

    async def download(self, message: dict[str, Any], number: int = 0) -> tuple[int, str, bytes]:
        """Status, type and content of a file of a message."""
        headers = {"X-Aouo-Token": self.page.token}
        address = self.page.link.join(
            URL(f"{self.path}/messages/{message['id']}/files/{number}")
        ).with_query({})
        async with self.page.client.get(address, headers=headers) as response:
            return response.status, response.content_type, await response.read()

    @asynccontextmanager
    async def window(self, after: int | str = 0, **headers: str) -> AsyncGenerator[Window]:
        """Open a window that is told of changes while the block runs."""
        headers = {"X-Aouo-Token": self.page.token} | headers
        address = self.page.link.join(URL(f"{self.path}/events")).with_query(after=after)
        window = Window()
        async with self.page.client.get(address, headers=headers) as response:
            assert response.status == 200
            listening = asyncio.ensure_future(window.listen(response))
            try:
                yield window
            finally:
                listening.cancel()
                await asyncio.wait([listening])


async def idle(chat: WebChat) -> None:
    """Wait until nothing is at work in a chat."""

    async def look() -> bool:
        return not (await chat.read())["standing"]["busy"]

    async with asyncio.timeout(WAIT_S):
        await eventually(look)


def scribe(world: World) -> Path:
    """A pack that wants to write where only the owner can allow it, and that folder."""
    folder = world.home.path.resolve().parent / "docs"
    folder.mkdir()
    pack = world.home.packs / "scribe"
    pack.mkdir()
    (pack / "pack.yml").write_text(
        "name: scribe\nversion: 0.1.0\ndisplay_name: Scribe\ndescription: Writes files\n"
        f"permissions:\n  tools: [files, msg]\n  files: [{json.dumps(str(folder))}]\n"
    )
    world.config = {**world.config, "security": {"fence_mode": "ask"}}
    return folder
