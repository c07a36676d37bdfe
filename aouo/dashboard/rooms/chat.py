"""Lets the owner talk to a pack on the page: what was said, and what is said and tapped now."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aouo.dashboard.access import Shown
from aouo.dashboard.endpoints import Download, Endpoint, Frame, NotFound, NotShown, number, phrase
from aouo.facts.address import GENERAL, ConversationAddress
from aouo.facts.errors import FileNotFetched, Refused, ToolFailed
from aouo.facts.ports import Media
from aouo.flow.commands.file_text import menu_of
from aouo.flow.uploads import UPLOAD_BYTES, type_of
from aouo.flow.web_chat import WebChat
from aouo.guard.paths import looks_local, opened
from aouo.outbound.clean import without_secrets
from aouo.outbound.messengers import WebMessenger, files_of
from aouo.plumbing.control import Facts
from aouo.store import web_messages
from aouo.store.web_messages import WebMessage

_PAGE = 50
"""Messages that are read at once; a window that missed more reads the newest anew."""
_CHUNK = 256 * 1024
_HIGHEST = 2**53 - 1
_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")


def chat(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints of the chats: of each pack by its name, and of no pack by `~`."""
    room = _Room(shown)
    before = number("before", 0, _HIGHEST, 0, "The id that all have to be below, 0 = the newest.")
    after = number("after", 0, _HIGHEST, 0, "The number of the last change that is known.")
    name = phrase("name", "What the file is called.")
    base = "/api/chats/{chat}"
    return (
        Endpoint("GET", base, room.messages, (before,)),
        Endpoint("GET", f"{base}/events", room.events, (after,), gives="frames"),
        Endpoint("GET", f"{base}/commands", room.commands),
        Endpoint("GET", base + "/messages/{message}/files/{number}", room.file, gives="file"),
        Endpoint("POST", f"{base}/messages", room.say, body=True),
        Endpoint("POST", f"{base}/taps", room.tap, body=True),
        Endpoint("POST", f"{base}/files", room.upload, (name,), takes_file=True),
    )


@dataclass(slots=True, eq=False)
class _Room:
    shown: Shown

    @property
    def _chat(self) -> WebChat:
        return self.shown.bot.app.web_chat

    def _address(self, chat: str) -> ConversationAddress:
        """Return the address of a chat. Raises: NotFound."""
        if chat != GENERAL:
            chat = self.shown.pack(chat).name
        return ConversationAddress("web", chat)

    async def messages(self, chat: str, before: int) -> Facts:
        """What was said, the oldest first."""
        address = self._address(chat)
        async with self.shown.snapshot() as snapshot:
            rows = await snapshot.ask(web_messages.newest(address.chat_id, before, _PAGE + 1))
            last = await snapshot.ask(web_messages.last_change(address.chat_id))
            standing = await snapshot.ask(web_messages.standing(address))
        more, rows = len(rows) > _PAGE, rows[-_PAGE:]
        return {
            "messages": [self._facts(address, row) for row in rows],
            "older": rows[0].id if more else 0,
            "last": last,
            "standing": standing,
            "upload_bytes": UPLOAD_BYTES,
            "running": self.shown.runtime is not None,
        }

    async def events(self, chat: str, after: int) -> AsyncGenerator[Frame]:
        """The messages that change, from a change on; `anew`: there were too many to tell."""
        address, messenger = self._address(chat), self._chat.messenger
        return self._frames(address, messenger, after)

    async def _frames(
        self, address: ConversationAddress, messenger: WebMessenger, known: int
    ) -> AsyncGenerator[Frame]:
        """Yield what changed since the change `known`, for ever.

        Nothing waits here for a slow window: it reads the rows when it can, and if they are too
        many then, it is told to begin anew.
        """
        standing = None
        with messenger.watch(address.chat_id) as window:
            while True:
                async with self.shown.snapshot() as snapshot:
                    rows = await snapshot.ask(
                        web_messages.changed(address.chat_id, known, _PAGE + 1)
                    )
                    last = await snapshot.ask(web_messages.last_change(address.chat_id))
                    now = await snapshot.ask(web_messages.standing(address))
                if len(rows) > _PAGE or last < known:
                    known = last
                    yield Frame("anew", {}, str(last))
                else:
                    for row in rows:
                        known = row.change
                        yield Frame("message", self._facts(address, row), str(known))
                if now != standing:
                    standing = now
                    yield Frame("standing", now)
                while window.passing:
                    kind, text = window.passing.popleft()
                    yield Frame(kind, {"text": text})
                await window.told()

    async def commands(self, chat: str) -> Facts:
        """What can be said with a slash.

        Our commands, the owner's, and the skills that can be called here.
        """
        pack, library = self._address(chat).pack, self.shown.library()
        added = self.shown.bot.app.commands.added()
        lines = {name: command.line for name, command in added.items()}
        entries = menu_of(library, lines, platform="web", pack=pack).entries
        return {"commands": [{"name": name, "about": about} for name, about in entries]}

    async def say(self, chat: str, key: str, text: str = "", files: str = "") -> Facts:
        """Say something.

        `key` is the page's own name for it, so that it is said once however often it is sent;
        `files` are ids of uploads, with commas between them.
        """
        _check_key(key)
        ids = [one for one in files.split(",") if one]
        page, address = self._chat, self._address(chat)
        try:
            number = await page.say(address, text, key, ids)
        except Refused as error:
            raise NotShown(str(error)) from error
        return {"id": number}

    async def tap(self, chat: str, key: str, message: int, data: str) -> Facts:
        """Tap a button.

        `data` names the button of a message; `key` is as in `say`.
        """
        _check_key(key)
        if not 0 < message <= _HIGHEST:
            raise NotFound("There is no such message.")
        await self._chat.tap(self._address(chat), message, data, key)
        return {}

    async def upload(self, chat: str, name: str, content: AsyncIterable[bytes]) -> Facts:
        """Upload a file, to be said with a message."""
        address = self._address(chat)
        try:
            return {"file": await self._chat.uploads.take(address, name, content)}
        except FileNotFetched as error:
            if error.limit_bytes:
                limit = f"{error.limit_bytes // 1024**2} MB"
                raise NotShown(f"The file is too large: {limit} at most.", 413) from error
            raise Refused("The file cannot be stored on this machine's disk.") from error

    async def file(self, chat: str, message: str, number: str) -> Download:
        """A file of a message."""
        address = self._address(chat)
        if not (_is_number(message) and _is_number(number)):
            raise NotFound("There is no such file.")
        async with self.shown.snapshot() as snapshot:
            row = await snapshot.ask(web_messages.one(address.chat_id, int(message)))
        files = files_of(self._now(address, row).message) if row else ()
        if int(number) >= len(files):
            raise NotFound("There is no such file.")
        media = files[int(number)]
        if media.text:
            return _text(media)
        if not _is_here(media):
            raise NotFound("This file is not on this machine.")
        folder = self.shown.home.media / address.folder
        return await asyncio.to_thread(_opened, folder / Path(media.source).name, media)

    def _now(self, address: ConversationAddress, row: WebMessage) -> WebMessage:
        if self.shown.runtime is None:
            return row
        return self._chat.messenger.shown(address.chat_id, row)

    def _facts(self, address: ConversationAddress, row: WebMessage) -> Facts:
        row = self._now(address, row)
        message, redactor = row.message, self.shown.redactor()
        if redactor.suspects(message.text):  # here, where marks move with the words
            message = without_secrets(message, redactor)
        return {
            "id": row.id,
            "by": "person" if row.by_person else "bot",
            "state": row.state,
            "at": row.created_at,
            "text": message.text,
            "entities": message.entities,
            "buttons": [[_button(one.label, one.data) for one in row] for row in message.buttons],
            "files": [_file(number, one) for number, one in enumerate(files_of(message))],
        }


def _check_key(key: str) -> None:
    if not _KEY.fullmatch(key):
        raise NotShown("key has to be 1 to 64 letters, digits, - and _.")


def _button(label: str, data: str) -> dict[str, str]:
    return {"label": label, "data": data}


def _file(number: int, media: Media) -> dict[str, Any]:
    """What the page is told of a file: `url` is where it is elsewhere, "" = it is here."""
    name = media.name or Path(media.source).name
    url = "" if media.text or _is_here(media) else media.source
    return {"number": number, "name": name, "kind": media.kind, "url": url}


def _is_here(media: Media) -> bool:
    return looks_local(media.source)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 15


def _text(media: Media) -> Download:
    content = media.text.encode()

    async def chunks() -> AsyncGenerator[bytes]:
        yield content

    return Download(media.name or "file.txt", "text/plain; charset=utf-8", chunks(), len(content))


def _opened(file: Path, media: Media) -> Download:
    """Return a file of the chat's folder. Raises: NotFound."""
    try:
        with opened(file) as descriptor:
            size = os.fstat(descriptor).st_size
    except ToolFailed as error:
        raise NotFound("The file is not kept any more.") from error

    async def chunks() -> AsyncGenerator[bytes]:
        with await asyncio.to_thread(file.open, "rb") as content:
            while chunk := await asyncio.to_thread(content.read, _CHUNK):
                yield chunk

    return Download(media.name or file.name, type_of(file), chunks(), size)
