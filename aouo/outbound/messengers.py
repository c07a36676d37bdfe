"""Implements `Messenger` for terminals and for the local page.

Without one a message is refused, not queued: a terminal that comes later reads the history.

The page reads the rows (`store.web_messages`), so one that is closed, slow or asleep delays nobody
and misses nothing. Of what was said off the record a row has no words: they are in this process's
memory until a person says something there on the record.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from aouo.facts.address import ConversationAddress
from aouo.facts.attachments import safe_name
from aouo.facts.errors import DeliveryRefused, NotOffered, ToolFailed
from aouo.facts.ids import ulid
from aouo.facts.ports import Clock, Media, Rendered, stamp
from aouo.guard.paths import looks_local, opened
from aouo.store import jobs, web_messages
from aouo.store.database import Database, Tx
from aouo.store.web_messages import WebMessage

_WAITING = 1_000


class TerminalMessenger:
    """Puts messages as JSON objects into the queues of the terminals that watch a conversation."""

    def __init__(self) -> None:
        self._watching: dict[str, list[asyncio.Queue[dict[str, Any]]]] = {}
        self._last_id = 0

    def watch(self, chat_id: str) -> tuple[asyncio.Queue[dict[str, Any]], Callable[[], None]]:
        """Return a queue of the messages in `chat_id` from now on, and the function to leave."""
        waiting: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_WAITING)
        self._watching.setdefault(chat_id, []).append(waiting)

        def leave() -> None:
            self._watching[chat_id].remove(waiting)

        return waiting, leave

    async def ready(self) -> None:
        """Return at once: a terminal is always ready."""

    async def send(self, to: ConversationAddress, message: Rendered) -> int:
        self._last_id += 1
        self._tell(to, "message", self._last_id, message)
        return self._last_id

    async def edit(self, to: ConversationAddress, message_id: int, message: Rendered) -> None:
        self._tell(to, "edit", message_id, message)

    async def draft(self, to: ConversationAddress, draft_id: int, message: Rendered) -> None:
        del to, draft_id, message
        raise DeliveryRefused("a terminal shows no drafts")

    async def delete(self, to: ConversationAddress, message_id: int) -> None:
        del to, message_id  # what is printed stays printed

    async def action(self, to: ConversationAddress, action: str) -> None:
        del to, action  # a terminal shows no activity

    async def answer_tap(self, answer_id: str, text: str, *, alert: bool = False) -> None:
        del answer_id, text, alert  # taps come from the same terminal and need no answer

    def _tell(self, to: ConversationAddress, kind: str, number: int, message: Rendered) -> None:
        watching = self._watching.get(to.chat_id)
        if not watching:
            raise DeliveryRefused("no terminal is connected")
        written = message.media.text if message.media else ""  # a terminal has it as its words
        said = {
            "kind": kind,
            "id": number,
            "text": written or message.text,
            "buttons": [[[b.label, b.data] for b in row] for row in message.buttons],
        }
        for waiting in watching:
            waiting.put_nowait(said)


_FILE_BYTES = 200_000_000
"""The most that a file may have which is shown on the page."""
_PASSING = 20
_HIDDEN = 50


class _Window:
    """One page that shows a chat: is told when its rows may have changed, and what passes.

    Of what passes, an activity or the answer to a tap, only the newest few wait.
    """

    def __init__(self) -> None:
        self.passing: deque[tuple[str, str]] = deque(maxlen=_PASSING)
        self._told = asyncio.Event()

    def tell(self) -> None:
        self._told.set()

    async def told(self) -> None:
        """Wait until something may have changed since the last time."""
        await self._told.wait()
        self._told.clear()


class WebMessenger:
    """Stores messages for the pages that show a chat. `place` is the folder of a chat's files."""

    def __init__(
        self, *, database: Database, clock: Clock, place: Callable[[ConversationAddress], Path]
    ) -> None:
        self._database = database
        self._clock = clock
        self._place = place
        self._windows: dict[str, list[_Window]] = {}
        self._hidden = defaultdict[str, dict[int, Rendered]](dict)
        database.listen(web_messages.CHANGED, self._tell)
        database.listen(jobs.ENDED, self._tell)

    @contextmanager
    def watch(self, chat_id: str) -> Generator[_Window]:
        """Yield a window of a chat, which is told of changes as long as the block runs."""
        window, windows = _Window(), self._windows.setdefault(chat_id, [])
        windows.append(window)
        try:
            yield window
        finally:
            windows.remove(window)

    def shown(self, chat_id: str, row: WebMessage) -> WebMessage:
        """Return a row as the page shows it now: off the record with the words that are still in
        memory."""
        hidden = self._hidden[chat_id].get(row.id)
        return replace(row, message=hidden) if hidden and row.state == "off_record" else row

    async def ready(self) -> None:
        """Return at once: a row can always be stored."""

    async def send(self, to: ConversationAddress, message: Rendered) -> int:
        key, off_record = wanted = await self._wanted(to)
        kept = await self._kept(to, wanted, message)
        now = stamp(self._clock)
        message_id = await self._database.transact(
            lambda tx: web_messages.add(tx, to.chat_id, key, kept, now, off_record=off_record),
            brief=True,
        )
        if off_record:
            await self.remember(to.chat_id, {message_id: kept})
        return message_id

    async def edit(self, to: ConversationAddress, message_id: int, message: Rendered) -> None:
        if _has_files(message):
            message = await self._kept(to, await self._wanted(to), message)

        def write(tx: Tx) -> web_messages.State | None:
            return web_messages.edit(tx, to.chat_id, message_id, message)

        state = await self._database.transact(write, brief=True)
        if state is None or state == "deleted":
            raise DeliveryRefused("the message is not there any more")
        if state == "off_record":
            await self.remember(to.chat_id, {message_id: message})

    async def draft(self, to: ConversationAddress, draft_id: int, message: Rendered) -> None:
        del to, draft_id, message
        raise NotOffered("the page shows answers as messages that grow")

    async def delete(self, to: ConversationAddress, message_id: int) -> None:
        await self._database.transact(
            lambda tx: web_messages.delete(tx, to.chat_id, message_id), brief=True
        )
        self._hidden[to.chat_id].pop(message_id, None)

    async def action(self, to: ConversationAddress, action: str) -> None:
        self._pass(to.chat_id, "action", action)

    async def answer_tap(self, answer_id: str, text: str, *, alert: bool = False) -> None:
        """Show `text` on the pages of the chat that the tap came from; its id begins with it."""
        del alert
        if text:
            self._pass(answer_id.partition(" ")[0], "notice", text)

    def forgettable(self, tx: Tx, chat_id: str) -> dict[int, None]:
        """Return, for `remember`, the messages whose words are forgotten when something is said on
        the record: those off it, but for words that still wait for their turn."""
        rows = [tx.ask(web_messages.one(chat_id, one)) for one in tuple(self._hidden[chat_id])]
        return {row.id: None for row in rows if row and row.state != "shown"}

    async def remember(self, chat_id: str, words: Mapping[int, Rendered | None]) -> None:
        """Keep the words of rows that have none, or are to lose them with their turn, and then
        have every window ask for them; None = forget them."""
        hidden = self._hidden[chat_id]
        for message_id, message in words.items():
            if message is None:
                hidden.pop(message_id, None)
                continue
            hidden[message_id] = message
            while len(hidden) > _HIDDEN:
                del hidden[min(hidden)]
            await self._database.transact(
                lambda tx, number=message_id: web_messages.tell_anew(tx, chat_id, number),
                brief=True,
            )

    async def _wanted(self, to: ConversationAddress) -> tuple[str, bool]:
        """Return the key of what is being sent to a chat, and whether it is off the record."""
        found = await self._database.read(lambda tx: web_messages.sending(tx, to))
        return found or (f"sent:{ulid()}", False)

    def _pass(self, chat_id: str, kind: str, text: str) -> None:
        for window in self._windows.get(chat_id, ()):
            window.passing.append((kind, text))
            window.tell()

    def _tell(self) -> None:
        for windows in self._windows.values():
            for window in windows:
                window.tell()

    async def _kept(
        self, to: ConversationAddress, wanted: tuple[str, bool], message: Rendered
    ) -> Rendered:
        """Return the message with its files copied into the chat's folder, where they stay as they
        are now; off the record none is.

        Raises:
            DeliveryRefused: a file is missing, none, or too large.
        """
        if not _has_files(message):
            return message
        key, off_record = wanted
        if off_record:
            raise DeliveryRefused("off the record no file is kept, so the page cannot show one")
        number = key.partition(":")[2]
        found = await asyncio.to_thread(self._copied, self._place(to), number, message)
        return replace(message, media=found[0] if message.media else None, album=found[1])

    def _copied(
        self, folder: Path, number: str, message: Rendered
    ) -> tuple[Media | None, tuple[Media, ...]]:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        album = tuple(
            _copy(one, folder, f"sent_{number}_{n}") for n, one in enumerate(message.album, 1)
        )
        media = message.media
        return (_copy(media, folder, f"sent_{number}_0") if media else None), album


def _has_files(message: Rendered) -> bool:
    """Whether files of this machine come with a message."""
    return any(map(_is_local, files_of(message)))


def _is_local(file: Media) -> bool:
    return not file.text and looks_local(file.source)


def _copy(file: Media, folder: Path, prefix: str) -> Media:
    """Copy a file into `folder`, whole or not at all; what names an address is left as it is."""
    if not _is_local(file):
        return file
    source = Path(file.source)
    name = safe_name(file.name or source.name) or "file"
    target = folder / f"{prefix}_{name}"
    try:
        if not source.is_absolute():
            raise ToolFailed("it has no absolute path")
        with opened(source) as descriptor:
            size = os.fstat(descriptor).st_size
            if size > _FILE_BYTES:
                raise DeliveryRefused(
                    f"{name} has {size:,} bytes; at most {_FILE_BYTES:,} can be sent"
                )
            part = target.with_name(f".{target.name}")
            with os.fdopen(os.dup(descriptor), "rb") as content, part.open("wb") as copy:
                part.chmod(0o600)
                shutil.copyfileobj(content, copy, 1_000_000)
            part.replace(target)
    except (ToolFailed, OSError, ValueError) as error:
        raise DeliveryRefused(f"{name} cannot be read: {error}") from error
    return replace(file, source=target.name, name=name)


def files_of(message: Rendered) -> Sequence[Media]:
    """Return the files of a message, in order."""
    return (message.media, *message.album) if message.media else message.album
