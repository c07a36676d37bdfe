"""A Bot API server that costs little and measures: from update handed out to answer received.

Without flood control, history and checks; the emulator has those, and costs more a message than
the smallest bot does (4.4 ms of CPU against 2.9), on the cores that both share.
Each token is a bot of its own. `/control/first` and `/control/drive` are for whoever
measures.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web

from scripts.benchmarks.processes import cpu_s

_UPDATES_AT_MOST = 100  # as Telegram
_DRIVE_S = 240.0


class Chat:
    """What is known of one chat: handed-out messages that wait for their answer."""

    def __init__(self) -> None:
        self.handed_s: deque[float] = deque()
        self.complete: set[int] = set()


class Bot:
    """One token: its updates, and what came back."""

    def __init__(self, answer: str) -> None:
        self._answer = answer
        self._updates: deque[dict[str, Any]] = deque()
        self._handed = 0
        self._ids = itertools.count(1)
        self._chats: dict[int, Chat] = {}
        self.first: dict[str, Any] = {}
        self.polled = asyncio.Event()
        self.arrived = asyncio.Event()
        self.answered = asyncio.Event()
        self.calls: Counter[str] = Counter()
        self.latency_ms: list[float] = []
        self.twice = 0

    def say(self, chat_id: int, text: str) -> None:
        number = next(self._ids)
        person = {
            "id": chat_id,
            "is_bot": False,
            "first_name": "Ada",
            "username": f"ada{chat_id}",
            "language_code": "en",
        }
        chat = {"id": chat_id, "type": "private", "first_name": "Ada", "username": f"ada{chat_id}"}
        message = {
            "message_id": number,
            "from": person,
            "chat": chat,
            "date": int(time.time()),
            "text": text,
        }
        self._updates.append({"update_id": number, "message": message})
        self.arrived.set()

    async def updates(self, offset: int, timeout_s: float) -> Sequence[dict[str, Any]]:
        """What getUpdates returns; a message is handed out when it is returned first."""
        if not self.first:
            self.first = {"at_s": time.monotonic(), "timeout": timeout_s}
            self.polled.set()
        while self._updates and int(self._updates[0]["update_id"]) < offset:
            self._updates.popleft()
        if not self._updates and timeout_s:
            self.arrived.clear()
            try:
                async with asyncio.timeout(timeout_s):
                    await self.arrived.wait()
            except TimeoutError:
                return ()
        found = list(itertools.islice(self._updates, _UPDATES_AT_MOST))
        for update in found:
            if int(update["update_id"]) > self._handed:
                self._handed = int(update["update_id"])
                chat = self._chats.setdefault(int(update["message"]["chat"]["id"]), Chat())
                chat.handed_s.append(time.monotonic())
        return found

    def take(self, chat_id: int, message_id: int, text: str) -> dict[str, Any]:
        """A message as it stands now, sent or edited; returns it as Telegram would."""
        number = message_id or next(self._ids)
        if text.startswith(self._answer):
            self._completed(self._chats.setdefault(chat_id, Chat()), number)
        return {
            "message_id": number,
            "from": ME,
            "chat": {"id": chat_id, "type": "private", "first_name": "Ada"},
            "date": int(time.time()),
            "text": text,
        }

    def _completed(self, chat: Chat, message_id: int) -> None:
        if message_id in chat.complete:
            return
        chat.complete.add(message_id)
        if not chat.handed_s:
            self.twice += 1
            return
        self.latency_ms.append((time.monotonic() - chat.handed_s.popleft()) * 1000)
        self.answered.set()


ME = {"id": 100_000, "is_bot": True, "first_name": "Bench", "username": "bench_bot"}


class Server:
    """All bots behind one port."""

    def __init__(self, answer: str) -> None:
        self._answer = answer
        self._bots: dict[str, Bot] = {}

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        _, place, rest = request.path.split("/", 2)
        body = _parameters(await request.read(), request.content_type)
        if place == "control":
            return web.json_response(await self._control(rest, body))
        result = await self._call(self._bot(place.removeprefix("bot")), rest, body)
        return web.json_response({"ok": True, "result": result})

    def _bot(self, token: str) -> Bot:
        if token not in self._bots:
            self._bots[token] = Bot(self._answer)
        return self._bots[token]

    async def _call(self, bot: Bot, method: str, body: Mapping[str, Any]) -> object:
        match method:
            case "getUpdates":
                offset, timeout_s = int(body.get("offset", 0)), float(body.get("timeout", 0))
                return await bot.updates(offset, timeout_s)
            case "getMe":
                return ME | {"can_join_groups": True, "can_read_all_group_messages": False}
            case "sendMessage" | "editMessageText":
                bot.calls[method] += 1
                number = int(body.get("message_id", 0))
                return bot.take(int(body["chat_id"]), number, str(body["text"]))
            case _:
                bot.calls[method] += 1
                return True

    async def _control(self, what: str, body: Mapping[str, Any]) -> dict[str, Any]:
        bot = self._bot(str(body["token"]))
        async with asyncio.timeout(_DRIVE_S):
            if what == "first":
                await bot.polled.wait()
                return bot.first
            return await _drive(bot, body)


async def _drive(bot: Bot, body: Mapping[str, Any]) -> dict[str, Any]:
    bot.calls.clear()
    bot.latency_ms.clear()
    bot.twice = 0
    texts = _texts(str(body["text"]), int(body["each"]), body["chats"])
    pid = int(body["pid"])
    cpu: list[float] = []
    begun_s = time.monotonic()
    for wanted, (chat_id, text) in enumerate(texts, 1):
        if pid:
            cpu.append(cpu_s(pid))
        bot.say(chat_id, text)
        if body["apart"]:
            await _until_answered(bot, wanted)
    await _until_answered(bot, len(texts))
    wall_s = time.monotonic() - begun_s
    await asyncio.sleep(0.2)  # for what a bot does after its answer
    if pid:
        cpu.append(cpu_s(pid))
    return {
        "wall_s": wall_s,
        "answered": len(bot.latency_ms),
        "twice": bot.twice,
        "calls": dict(bot.calls),
        "latency_ms": list(bot.latency_ms),
        "cpu_ms": [(later - at) * 1000 for at, later in itertools.pairwise(cpu)],
    }


def _texts(text: str, each: int, chats: Sequence[int]) -> list[tuple[int, str]]:
    """Chat by chat within a round, so that a chat's messages are as far apart as can be."""
    return [
        (chat_id, text or f"Message {number} of this chat: what do you think about it?")
        for number in range(each)
        for chat_id in chats
    ]


async def _until_answered(bot: Bot, wanted: int) -> None:
    while len(bot.latency_ms) < wanted:
        bot.answered.clear()
        await bot.answered.wait()


def _parameters(raw: bytes, content_type: str) -> Mapping[str, Any]:
    if not raw:
        return {}
    if content_type == "application/json":
        return json.loads(raw)
    return dict(parse_qsl(raw.decode(), keep_blank_values=True))


async def _serve(answer: str) -> None:
    server = web.Server(Server(answer).handle)
    runner = web.ServerRunner(server)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host: tuple[str, int] = runner.addresses[0]
    print(json.dumps({"url": f"http://127.0.0.1:{host[1]}"}), flush=True)
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answer", required=True, help="how the text of an answer begins")
    try:
        asyncio.run(_serve(parser.parse_args().answer))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
