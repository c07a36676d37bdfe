"""The client of the people's side for tests and tools: over HTTP, wherever the emulator runs."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from io import BytesIO
from typing import Any, Self, TypeVar

from aiohttp import ClientSession, ClientTimeout

from aouo.emulator.chats import MediaKind
from aouo.emulator.description import JsonObject
from aouo.emulator.objects import ChatMessage

_T = TypeVar("_T")

_ROUND_S = 20.0


class ActRefused(Exception):
    """The emulator refused an act: an unknown chat, a closed topic."""


class EmulatorClient:
    """Acts for people and reads the world; it waits for changes and never sleeps."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self._session: ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = ClientSession(timeout=ClientTimeout(total=120))
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

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

    async def tap(
        self, user: int, chat: int, message_id: int, data: str, *, timeout_s: float = 30.0
    ) -> JsonObject:
        """Tap a button; return the bot's answer `{"text", "show_alert"}`.

        Raises TimeoutError if the bot does not answer in `timeout_s`.
        """
        tapped = await self.act("tap", user=user, chat=chat, message_id=message_id, data=data)
        answer = await self.act("answer", query_id=tapped["query_id"], timeout_s=timeout_s)
        if answer is None:
            raise TimeoutError(f"the bot did not answer the button {data!r} in {timeout_s} s")
        return answer

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

    async def messages(self, chat: int, thread: int | None = None) -> list[ChatMessage]:
        """Return the messages of a chat or of one topic, in order; 1 = a forum's General topic."""
        where = {"chat": chat} if thread is None else {"chat": chat, "thread": thread}
        return [ChatMessage.of(raw) for raw in await self.act("messages", **where)]

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

    async def until(self, look: Callable[[], Awaitable[_T | None]], timeout_s: float = 30.0) -> _T:
        """Return the first true result of `look`, called again at every change of the emulator.

        Raises TimeoutError after `timeout_s`.
        """
        try:
            async with asyncio.timeout(timeout_s):
                since = await self._changes(-1)
                while not (found := await look()):
                    since = await self._changes(since)
                return found
        except TimeoutError:
            raise TimeoutError(f"nothing of the kind within {timeout_s} s") from None

    async def next_message(
        self,
        chat: int,
        *,
        after: int = 0,
        thread: int | None = None,
        contains: str = "",
        timeout_s: float = 30.0,
    ) -> ChatMessage:
        """Wait for the bot's first message after message `after` that contains a text."""

        async def look() -> ChatMessage | None:
            found = (
                one
                for one in await self.messages(chat, thread)
                if one.from_bot and one.id > after and contains in one.text
            )
            return next(found, None)

        try:
            return await self.until(look, timeout_s)
        except TimeoutError as error:
            last = [f"{one.id}: {one.text!r}" for one in (await self.messages(chat, thread))[-5:]]
            raise TimeoutError(f"{error}; the last messages are {last}") from None

    async def act(self, verb: str, **arguments: Any) -> Any:
        """Call one verb of the control API; raises ActRefused if the emulator refuses it."""
        url = f"{self.base_url}/emulator/{verb}"
        body = BytesIO(json.dumps(arguments).encode())  # aiohttp warns of megabytes as bytes
        headers = {"Content-Type": "application/json"}
        async with self._open().post(url, data=body, headers=headers) as response:
            answer = json.loads(await response.read())
        if response.status != 200:
            raise ActRefused(answer["error"])
        return answer["result"]

    async def _message(self, verb: str, **arguments: Any) -> ChatMessage:
        return ChatMessage.of(await self.act(verb, **arguments))

    async def _changes(self, since: int) -> int:
        params = {"since": str(since), "timeout_s": str(_ROUND_S)}
        async with self._open().get(f"{self.base_url}/emulator/changes", params=params) as response:
            return json.loads(await response.read())["now"]

    def _open(self) -> ClientSession:
        if self._session is None:
            raise RuntimeError("enter the client first: `async with EmulatorClient(url)`")
        return self._session
