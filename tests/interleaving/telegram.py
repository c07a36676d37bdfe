"""A Telegram in this process, under the runtime's HTTP session: the emulator without sockets.

The runtime's poller, normaliser, python-telegram-bot and messenger are the real ones; only
`aiohttp.ClientSession` is ours. What the network does to each call is drawn from a seed, and what
people saw of it is kept, for the laws.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, TypeAlias

import aiohttp
from aiohttp.client_reqrep import ConnectionKey

from aouo.emulator import DEFAULT_TOKEN
from aouo.emulator.chats import Person
from aouo.emulator.description import Described, api_methods, read_call
from aouo.emulator.files import Parameters
from aouo.emulator.methods import METHODS
from aouo.emulator.refusals import ChangeSignal, Refusal
from aouo.emulator.world import World
from tests.fakes.telegram.botapi import RepeatingPoll
from tests.fakes.telegram.faults import too_many_requests
from tests.interleaving.mortal import Life

URL = "http://telegram.test"
BOT = Person(int(DEFAULT_TOKEN.partition(":")[0]), "aouo", username="aouo_try_bot", is_bot=True)
_EPOCH_S = 1_772_452_800

Fault: TypeAlias = Literal["", "flood", "error", "unwritten", "proxy", "cut before", "cut after"]
"""`proxy`, `cut before`: nothing happened, but whoever called cannot know. `cut after`: it did."""
_FAULTS: tuple[Fault, ...] = (
    "flood",
    "error",
    "unwritten",
    "proxy",
    "cut before",
    "cut after",
    "cut after",
)


@dataclass(frozen=True, slots=True)
class Seen:
    """A message of the bot appeared, or changed, in a chat."""

    at_s: float
    chat: int
    thread: int | None
    message_id: int
    text: str


@dataclass(slots=True)
class Telegram:
    """The service: its world, what a bot did there; `trouble` is the share of calls that fail."""

    chance: random.Random
    trouble: float
    private_topics: bool = False
    seen: list[Seen] = field(default_factory=list[Seen])
    shown: dict[tuple[int, int], Seen] = field(default_factory=dict[tuple[int, int], Seen])
    """(chat, message id) → what stands there now."""
    taken: list[Seen] = field(default_factory=list[Seen])
    """What people took away, as it stood."""
    lost: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """(chat, text) of sends that never arrived and may have, for all that the bot knows."""
    stray: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])
    """(chat, message id) → text of what arrived although the bot was not told."""
    problems: list[str] = field(default_factory=list[str])
    calls: int = 0
    faults: int = 0
    world: World = field(init=False)
    signal: ChangeSignal = field(init=False)
    poll: RepeatingPoll = field(init=False)

    def __post_init__(self) -> None:
        self.world = World(BOT, private_topics=self.private_topics, privacy=False)
        self.signal = ChangeSignal()
        self.poll = RepeatingPoll(self.world, self.signal)

    @property
    def now_s(self) -> float:
        return asyncio.get_running_loop().time() + _EPOCH_S

    def take_away(self, chat: int, message_id: int) -> None:
        """A person did."""
        if found := self.shown.pop((chat, message_id), None):
            self.taken.append(found)

    def cut_off(self, died_s: float) -> None:
        """A life died: what it had just sent was answered, and it could not write that down."""
        for seen in reversed(self.seen):
            if seen.at_s < died_s:
                return
            self.stray[seen.chat, seen.message_id] = seen.text

    async def answer(self, name: str, raw: Mapping[str, Any], life: Life) -> tuple[int, bytes]:
        """One call: status and body, or the error that the bot's HTTP client would raise."""
        method = api_methods()[name.lower()]
        fault = self._fault(method.name)
        try:
            life.step()
            await asyncio.sleep(self.chance.uniform(0.005, 0.3))
        except asyncio.CancelledError:  # perhaps it had left, perhaps not
            if self.chance.random() < 0.5:
                with suppress(aiohttp.ClientError):
                    await self._carry_out(method, raw, life, cut=True)
            else:
                self._note_lost(method, raw)
            raise
        match fault:
            case "unwritten":
                key = ConnectionKey("t", 80, False, True, None, None, None)
                raise aiohttp.ClientConnectorError(key, OSError("no route"))
            case "flood":
                return _refused(too_many_requests(self.chance.randrange(1, 6)))
            case "error":
                return _refused(Refusal(500, "Internal Server Error: restart"))
            case "proxy" | "cut before":
                self._note_lost(method, raw)
                if fault == "proxy":
                    return 502, b"<html>502 Bad Gateway</html>"
                raise aiohttp.ServerDisconnectedError
            case "cut after" | "":
                pass
        return await self._carry_out(method, raw, life, cut=bool(fault))

    async def _carry_out(
        self, method: Described, raw: Mapping[str, Any], life: Life, *, cut: bool
    ) -> tuple[int, bytes]:
        """`cut`: the answer does not arrive."""
        values, problems = read_call(method, raw)
        self.problems += map(str, problems)
        params = Parameters(values, {})
        try:
            if method.name == "getUpdates":
                if cut:
                    raise aiohttp.ServerDisconnectedError
                self.poll.repeats = self.chance.random() < self.trouble
                result: Any = await self.poll.get_updates(params)
            else:
                result = METHODS[method.name.lower()](self.world, params, self.now_s)
        except Refusal as refusal:
            return _refused(refusal)
        if method.name == "deleteMessage":
            self.shown.pop((values["chat_id"], values["message_id"]), None)
        self._note_seen(method, result, unheard=cut)
        if cut:
            raise aiohttp.ServerDisconnectedError
        try:
            life.step()
        except asyncio.CancelledError:
            self._note_stray(method, result)
            raise
        return 200, json.dumps({"ok": True, "result": result}).encode()

    def _fault(self, name: str) -> Fault:
        self.calls += 1
        if name in ("getMe", "setMyCommands") or self.chance.random() >= self.trouble:
            return ""
        self.faults += 1
        return self.chance.choice(_FAULTS)

    def _note_lost(self, method: Described, raw: Mapping[str, Any]) -> None:
        if method.name == "sendMessage":
            self.lost.append((int(raw["chat_id"]), str(raw["text"])))

    def _note_seen(self, method: Described, result: Any, *, unheard: bool) -> None:
        if method.name not in ("sendMessage", "editMessageText"):
            return
        seen = Seen(
            asyncio.get_running_loop().time(),
            result["chat"]["id"],
            # Chains of replies carry a thread id too; they are no topics.
            result.get("message_thread_id") if result.get("is_topic_message") else None,
            result["message_id"],
            result.get("text", ""),
        )
        self.seen.append(seen)
        self.shown[seen.chat, seen.message_id] = seen
        if unheard:
            self._note_stray(method, result)

    def _note_stray(self, method: Described, result: Any) -> None:
        if method.name == "sendMessage":
            self.stray[result["chat"]["id"], result["message_id"]] = result.get("text", "")


class Session:
    """What the runtime uses of `aiohttp.ClientSession`, for one life."""

    def __init__(self, telegram: Telegram, life: Life) -> None:
        self._telegram = telegram
        self._life = life

    def post(self, url: str, *, json: Mapping[str, Any], timeout: object) -> _Call:
        del timeout
        sent = {key: list(one) if isinstance(one, tuple) else one for key, one in json.items()}
        return _Call(self._telegram, url.rpartition("/")[2], sent, self._life)

    def request(self, method: str, url: str, *, data: Mapping[str, Any], timeout: object) -> _Call:
        del method, timeout
        return _Call(self._telegram, url.rpartition("/")[2], data or {}, self._life)


@dataclass(slots=True)
class _Call:
    telegram: Telegram
    method: str
    raw: Mapping[str, Any]
    life: Life
    status: int = 0
    body: bytes = b""

    async def __aenter__(self) -> _Call:
        self.status, self.body = await self.telegram.answer(self.method, self.raw, self.life)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing is held."""

    async def read(self) -> bytes:
        return self.body

    async def json(self, *, content_type: object) -> Any:
        del content_type
        return json.loads(self.body)


def _refused(refusal: Refusal) -> tuple[int, bytes]:
    body: dict[str, Any] = {
        "ok": False,
        "error_code": refusal.code,
        "description": refusal.description,
    }
    if refusal.parameters:
        body["parameters"] = refusal.parameters
    return refusal.code, json.dumps(body).encode()
