"""The client of the people's side: over HTTP, wherever the emulator runs."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from io import BytesIO
from typing import Any, Self, TypeVar

from aiohttp import ClientSession, ClientTimeout

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

    async def say(self, user: int, chat: int, text: str) -> ChatMessage:
        """Write a text as a person."""
        return await self._message("say", user=user, chat=chat, text=text)

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

    async def create_user(self, first_name: str, *, user_id: int, language: str) -> int:
        """Create a person who has started the bot; return their id."""
        person = await self.act(
            "create_user", first_name=first_name, id=user_id, language_code=language
        )
        return person["id"]

    async def messages(self, chat: int, thread: int | None = None) -> list[ChatMessage]:
        """Return the messages of a chat or of one topic, in order; 1 = a forum's General topic."""
        where = {"chat": chat} if thread is None else {"chat": chat, "thread": thread}
        return [ChatMessage.of(raw) for raw in await self.act("messages", **where)]

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
