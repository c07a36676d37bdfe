"""The Telegram channel: listens at once, and loads its heavy parts meanwhile."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp

from aouo.config.sections import Telegram
from aouo.facts.address import ConversationAddress
from aouo.facts.errors import DeliveryError, DeliveryRefused, FloodControl
from aouo.plumbing.logs import log
from aouo.plumbing.waiting import pause_s
from aouo.store import updates
from aouo.store.database import Database
from aouo.telegram.api import ApiError, ApiUnreachable, Downloads, TelegramApi
from aouo.telegram.poller import Poller

if TYPE_CHECKING:  # what a message needs is imported behind the first poll, by `load`
    from aouo.facts.attachments import Attachment
    from aouo.facts.events import Arrival, Inbound
    from aouo.facts.people import Admission
    from aouo.facts.ports import Clock, Rendered, Rights
    from aouo.queue.inbox import Inbox
    from aouo.telegram.messenger import TelegramMessenger
    from aouo.telegram.normaliser import Normaliser
    from aouo.telegram.webhook import Webhook

_MENU_TRIES = 5
_MENU_BACKOFF = partial(pause_s, first_s=2, factor=2, most_s=32)
_GET_ME_BACKOFF = partial(pause_s, first_s=2, factor=1, most_s=2)
_GENERAL = "1"


class TelegramChannel:
    """Listens, normalises and sends for one bot; as a `Messenger` it waits until it is loaded.

    Only this class knows whether updates come by polling or by a webhook.
    """

    def __init__(
        self,
        *,
        settings: Telegram,
        session: aiohttp.ClientSession,
        clock: Clock,
        database: Database,
    ) -> None:
        self._settings = settings
        self._token = settings.bot_token.get_secret_value()
        self._session = session
        self._clock = clock
        self._database = database
        self._inbox: Inbox | None = None
        self._admission: Callable[[], Admission] | None = None
        self._reached: Callable[[], None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._bot_id = self._token.partition(":")[0]
        self._api = TelegramApi(session=session, base_url=settings.api_base_url, token=self._token)
        self._downloads = Downloads(
            api=self._api,
            session=session,
            clock=clock,
            base_url=settings.api_base_url,
            token=self._token,
        )
        self._source = self._source_of(settings)
        self._loaded = asyncio.Event()
        self._normaliser: Normaliser | None = None
        self._messenger: TelegramMessenger | None = None
        self._forums: set[str] = set()
        self.username = ""

    @property
    def state(self) -> dict[str, object]:
        """Facts for `aouo status`."""
        return {"bot": self.username, **self._source.facts}

    @property
    def answered_s(self) -> float | None:
        """Seconds since the last answered poll or webhook call; None before the first."""
        return self._source.answered_s

    @property
    def is_alive(self) -> bool:
        """Whether what asks for updates goes on, whatever Telegram answers."""
        return self._source.is_alive

    async def begun(self) -> None:
        """Wait until Telegram has answered for the first time."""
        await self._source.begun.wait()

    def start_listening(self, group: asyncio.TaskGroup) -> None:
        """Listen in a task of `group`, which fails with the errors of the source's `run`."""
        self._listening = group.create_task(self._listen(), name="telegram")

    def stop_listening(self) -> None:
        """Stop taking updates in; a second call changes nothing."""
        if self._listening and not self._listening.cancelling():
            self._listening.cancel()

    def ask_anew(self) -> None:
        """Poll again after a sleep of the machine: connections from before it are dead."""
        if isinstance(self._source, Poller):
            self._source.ask_anew()

    def attach(
        self, inbox: Inbox, *, admission: Callable[[], Admission], reached: Callable[[], None]
    ) -> None:
        """Set the inbox for arrivals, which wait until `load` has ended.

        `admission` returns who is admitted. `reached` is called when Telegram answers again after
        a failure.
        """
        self._inbox = inbox
        self._admission = admission
        self._reached = reached

    def _recovered(self) -> None:
        if self._reached:
            self._reached()

    async def _listen(self) -> None:
        async with asyncio.TaskGroup() as self._answering:
            if isinstance(self._source, Poller):
                offset = await self._database.read(lambda tx: updates.cursor(tx, self._bot_id))
                await self._source.run(offset)
            else:
                await self._source.run()

    def _source_of(self, telegram: Telegram) -> Poller | Webhook:
        if telegram.transport == "polling":
            return Poller(
                api=self._api, clock=self._clock, store=self._store, recovered=self._recovered
            )
        from aouo.telegram.webhook import Webhook  # a web server, which polling does without

        return Webhook(
            api=self._api,
            clock=self._clock,
            store=self._store,
            recovered=self._recovered,
            url=telegram.webhook.url,
            listen=telegram.webhook.address,
            secret=telegram.webhook.secret_token.get_secret_value(),
        )

    async def load(self) -> None:
        """Import what reading and sending need, and ask Telegram for our name; retries for ever."""
        await self._source.begun.wait()
        await asyncio.to_thread(_import_telegram)
        from aouo.queue import lexer
        from aouo.store import routes
        from aouo.telegram.messenger import TelegramMessenger
        from aouo.telegram.normaliser import Normaliser

        assert self._admission is not None
        self._messenger = TelegramMessenger(
            session=self._session, base_url=self._settings.api_base_url, token=self._token
        )
        self._forums |= await self._database.read(lambda tx: routes.forums_of_topics(tx, "tg"))
        me = await self._get_me()
        self.username = str(me.get("username", ""))
        self._normaliser = Normaliser(int(me["id"]), self.username, self._admission, lexer.command)
        self._loaded.set()
        log.info("telegram_ready", bot=self.username)

    async def set_menu(
        self,
        commands: Sequence[tuple[str, str]],
        language: str = "",
        about: tuple[str, str] | None = None,
    ) -> None:
        """Fill the command menu for a language, "" = all others, and say what the bot is, at length
        and in short; a failure is logged and stops nothing."""
        messenger = await self._ready()
        for number in range(1, _MENU_TRIES + 1):
            try:
                await messenger.set_commands(commands, language, about)
            except DeliveryRefused as error:
                log.warning("command_menu_refused", error=str(error))
            except DeliveryError as error:
                log.warning("command_menu_failed", error=str(error), tries=number)
                asked_s = error.retry_after_s if isinstance(error, FloodControl) else 0.0
                await self._clock.sleep(_MENU_BACKOFF(number, asked_s=asked_s))
                continue
            return

    async def fetch(self, item: Attachment, to: Path) -> int:
        """See `ports.Files`."""
        return await self._downloads.fetch(item, to)

    async def ready(self) -> None:
        await self._loaded.wait()

    async def send(self, to: ConversationAddress, message: Rendered) -> int:
        return await (await self._ready()).send(to, message)

    async def edit(self, to: ConversationAddress, message_id: int, message: Rendered) -> None:
        await (await self._ready()).edit(to, message_id, message)

    async def draft(self, to: ConversationAddress, draft_id: int, message: Rendered) -> None:
        await (await self._ready()).draft(to, draft_id, message)

    async def delete(self, to: ConversationAddress, message_id: int) -> None:
        await (await self._ready()).delete(to, message_id)

    async def action(self, to: ConversationAddress, action: str) -> None:
        """See `ports.Messenger`. In a forum's General topic an action must name the topic to be
        visible, though a message must not."""
        messenger = await self._ready()
        if not to.thread_id and to.chat_id in self._forums:
            to = replace(to, thread_id=_GENERAL)
        await messenger.action(to, action)

    async def rights(self, chat: ConversationAddress) -> Rights:
        return await (await self._ready()).rights(chat)

    async def create_topic(self, chat: ConversationAddress, title: str) -> str:
        return await (await self._ready()).create_topic(chat, title)

    async def topic_exists(self, topic: ConversationAddress, title: str) -> bool:
        return await (await self._ready()).topic_exists(topic, title)

    async def answer_tap(self, answer_id: str, text: str, *, alert: bool = False) -> None:
        await (await self._ready()).answer_tap(answer_id, text, alert=alert)

    async def _ready(self) -> TelegramMessenger:
        await self._loaded.wait()
        assert self._messenger is not None
        return self._messenger

    async def _get_me(self) -> dict[str, Any]:
        for failures in count(1):
            try:
                return await self._api.call("getMe", 15.0)
            except (ApiError, ApiUnreachable) as error:
                if failures == 1:
                    log.warning("get_me_failed", error=str(error))
                await self._clock.sleep(_GET_ME_BACKOFF(failures))
        raise AssertionError

    async def _store(self, raw: Sequence[dict[str, Any]], next_update_id: int) -> None:
        await self._loaded.wait()
        assert self._normaliser is not None
        assert self._inbox is not None
        arrivals = [self._normaliser.read(update) for update in raw]
        repeated = await self._inbox.accept(self._bot_id, arrivals, next_update_id)
        waiting = [_waiting_tap(one.inbound) for one in arrivals if one.inbound]
        for answer_id in {*waiting, *repeated} - {""}:
            self._answering.create_task(self._stop_spinner(answer_id))
        for arrival in arrivals:
            if arrival.inbound:
                self._note_forum(arrival.inbound)
            if arrival.refused_tap or arrival.lost_tap:
                self._answering.create_task(self._explain_tap(arrival))

    def _note_forum(self, inbound: Inbound) -> None:
        """Remember whether the chat is a forum: no update reports that a group gets topics."""
        chat_id = inbound.address.chat_id
        if inbound.chat_kind == "forum":
            self._forums.add(chat_id)
        else:
            self._forums.discard(chat_id)

    async def _explain_tap(self, arrival: Arrival) -> None:
        from aouo.words.catalogue import text

        if arrival.refused_tap:
            log.info("tg_auth_denied", person=arrival.refused_person)
            await self._stop_spinner(
                arrival.refused_tap, text("conversations.not-authorized"), alert=True
            )
        else:
            await self._stop_spinner(arrival.lost_tap, text("taps.unknown"), alert=True)

    async def _stop_spinner(self, answer_id: str, text: str = "", *, alert: bool = False) -> None:
        """Answer a tap: Telegram wants that within seconds, however long its lane is busy."""
        try:
            await self.answer_tap(answer_id, text, alert=alert)
        except DeliveryError as error:
            log.debug("tap_not_answered", error=str(error))


def _import_telegram() -> None:
    """Import the modules that use python-telegram-bot.

    The library imports `cryptography` if it is installed, for Telegram Passport: 7 MB that we do
    not use. It works without it if the import fails.
    """
    hidden = "cryptography" not in sys.modules
    if hidden:
        sys.modules["cryptography"] = None  # pyright: ignore[reportArgumentType]
    try:
        for module in ("aouo.telegram.normaliser", "aouo.telegram.messenger"):
            import_module(module)
    finally:
        if hidden:
            del sys.modules["cryptography"]


def _waiting_tap(inbound: Inbound) -> str:
    """Return the `answer_id` of a tap that waits in its lane, else "".

    Taps that bypass the lane are answered with their outcome.
    """
    from aouo.facts.events import Button

    content = inbound.content
    if isinstance(content, Button) and not content.bypasses:
        return content.answer_id
    return ""
