"""The local Telegram with all that people, and faults, can do to a bot there."""

from __future__ import annotations

import asyncio
import base64
from contextlib import suppress
from typing import Any, Self

from aouo.emulator.botapi import BotApi
from aouo.emulator.chats import MediaKind, Message
from aouo.emulator.client import EmulatorClient
from aouo.emulator.description import JsonObject
from aouo.emulator.objects import ChatMessage
from aouo.emulator.server import Emulator
from tests.fakes.telegram import verbs
from tests.fakes.telegram.botapi import FaultyApi, RepeatingPoll
from tests.fakes.telegram.faults import Fault, FloodControl, Journal
from tests.fakes.telegram.webhook import WebhookCaller


class LocalTelegram(Emulator):
    """An emulator whose people act by `client`, which is open while it runs."""

    client: People
    journal: Journal
    faults: list[Fault]
    flood: FloodControl
    webhook: WebhookCaller

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._calling = asyncio.ensure_future(self.webhook.run())  # as long as the server
        self.client = People(self.base_url)
        await self.client.__aenter__()
        return self

    async def __aexit__(self, *what: object) -> None:
        await self.client.__aexit__()
        self._calling.cancel()
        with suppress(asyncio.CancelledError):
            await self._calling
        await super().__aexit__(*what)

    @property
    def now(self) -> float:
        return self._clock()

    def shown(self, message: Message) -> JsonObject:
        return self._desk.shown(message)

    def _api(self) -> BotApi:
        self.journal, self.flood, self.faults = Journal(self.signal), FloodControl(), []
        self.webhook = WebhookCaller(self.world, self.signal, self.faults, self._clock)
        self._poll = RepeatingPoll(self.world, self.signal)
        return FaultyApi(
            token=self.token,
            world=self.world,
            poll=self._poll,
            signal=self.signal,
            clock=self._clock,
            journal=self.journal,
            faults=self.faults,
            flood=self.flood,
        )

    async def _run(self, verb: str, arguments: JsonObject) -> Any:
        if verb not in verbs.VERBS:
            return await super()._run(verb, arguments)
        result = verbs.VERBS[verb](self, arguments)
        if verb not in verbs.READS:
            self.signal.bump()
        return result

    @property
    def bot_url(self) -> str:
        """The address to which methods are appended: `<base_url>/bot<token>`."""
        return f"{self.base_url}/bot{self.token}"


class People(EmulatorClient):
    """Acts for people in every way, plans faults, and reads what the bot called."""

    async def say(
        self,
        user: int,
        chat: int,
        text: str,
        *,
        thread: int | None = None,
        reply_to: int | None = None,
        quote: str = "",
        anonymous: bool = False,
    ) -> ChatMessage:
        """Write a text as a person; `quote` is the part of `reply_to` that they selected.

        `anonymous`: an administrator writes it in the name of the group.
        """
        return await self._message(
            "say",
            user=user,
            chat=chat,
            text=text,
            thread=thread,
            reply_to=reply_to,
            quote=quote,
            anonymous=anonymous,
        )

    async def edit(self, user: int, chat: int, message_id: int, text: str) -> ChatMessage:
        return await self._message("edit", user=user, chat=chat, message_id=message_id, text=text)

    async def delete(self, user: int, chat: int, message_id: int) -> None:
        await self.act("delete", user=user, chat=chat, message_id=message_id)

    async def send_file(
        self,
        user: int,
        chat: int,
        kind: MediaKind,
        content: bytes,
        *,
        name: str = "file",
        mime: str = "application/octet-stream",
        caption: str = "",
        thread: int | None = None,
        album: str = "",
    ) -> ChatMessage:
        """Send a file as a person; files with the same `album` are one album."""
        return await self._message(
            "send_file",
            user=user,
            chat=chat,
            kind=kind,
            content=base64.b64encode(content).decode(),
            name=name,
            mime=mime,
            caption=caption,
            thread=thread,
            album=album,
        )

    async def send_other(
        self, user: int, chat: int, fields: JsonObject, *, thread: int | None = None
    ) -> ChatMessage:
        """Send any other kind of message by its Message fields, `{"dice": {...}}`."""
        return await self._message("send_other", user=user, chat=chat, fields=fields, thread=thread)

    async def stop_draft(self, user: int, chat: int, *, thread: int | None = None) -> None:
        """Press *Stop* below the draft that is shown there; ActRefused if there is none."""
        await self.act("stop_draft", user=user, chat=chat, thread=thread)

    async def react(self, user: int, chat: int, message_id: int, emoji: str) -> ChatMessage:
        return await self._message(
            "react", user=user, chat=chat, message_id=message_id, emoji=emoji
        )

    async def create_user(
        self,
        first_name: str,
        *,
        username: str = "",
        user_id: int = 0,
        started: bool = True,
        language: str = "en",
    ) -> int:
        """Create a person and return their id; unless `started`, the bot must not write first."""
        person = await self.act(
            "create_user",
            first_name=first_name,
            username=username,
            id=user_id,
            started=started,
            language_code=language,
        )
        return person["id"]

    async def create_chat(
        self,
        title: str,
        members: list[int],
        *,
        kind: str = "group",
        bot_status: str = "administrator",
        manages_topics: bool = True,
    ) -> int:
        """Create a `group`, `supergroup` or `forum` and return its id; the first member owns it."""
        chat = await self.act(
            "create_chat",
            title=title,
            members=members,
            kind=kind,
            bot_status=bot_status,
            manages_topics=manages_topics,
        )
        return chat["id"]

    async def set_bot_status(
        self, user: int, chat: int, status: str, *, manages_topics: bool = True
    ) -> None:
        """Set the bot's status as `user`: administrator, member, restricted, left or kicked."""
        await self.act(
            "set_bot_status", user=user, chat=chat, status=status, manages_topics=manages_topics
        )

    async def join(self, user: int, chat: int) -> None:
        await self.act("join", user=user, chat=chat)

    async def leave(self, user: int, chat: int) -> None:
        await self.act("leave", user=user, chat=chat)

    async def block(self, user: int) -> None:
        await self.act("block", user=user)

    async def unblock(self, user: int) -> None:
        await self.act("unblock", user=user)

    async def upgrade(self, user: int, chat: int) -> int:
        """Make a basic group a supergroup; return its new id."""
        return (await self.act("upgrade", user=user, chat=chat))["id"]

    async def topic_created(self, user: int, chat: int, name: str) -> int:
        """Create a topic; return its thread id."""
        topic = await self.act("topic_created", user=user, chat=chat, name=name)
        return topic["message_thread_id"]

    async def topic_renamed(self, user: int, chat: int, thread: int, name: str) -> None:
        await self.act("topic_renamed", user=user, chat=chat, thread=thread, name=name)

    async def topic_closed(self, user: int, chat: int, thread: int, *, closed: bool = True) -> None:
        """Close a topic, or reopen it with `closed=False`."""
        await self.act("topic_closed", user=user, chat=chat, thread=thread, closed=closed)

    async def topic_deleted(self, user: int, chat: int, thread: int) -> None:
        await self.act("topic_deleted", user=user, chat=chat, thread=thread)

    async def calls(self, method: str = "") -> list[JsonObject]:
        """Return all API calls in order: number, at, method, params, status, description, fault."""
        found: list[JsonObject] = await self.act("calls")
        wanted = method.lower()
        return [call for call in found if not wanted or call["method"].lower() == wanted]

    async def violations(self) -> list[JsonObject]:
        """Return every violation of the API description by the bot: call, method, problem."""
        return await self.act("violations")

    async def fault(self, kind: str, **options: Any) -> None:
        """Plan a fault: method, chat, nth, times, status, retry_after, seconds (see `Fault`)."""
        await self.act("fault", kind=kind, **options)

    async def clear_faults(self) -> None:
        await self.act("clear_faults")

    async def faults_pending(self) -> list[JsonObject]:
        return await self.act("faults_pending")

    async def flood(self, *, on: bool) -> None:
        """Switch flood control."""
        await self.act("flood", on=on)
