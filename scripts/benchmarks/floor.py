"""The smallest correct bot on our libraries: what every product on them has to pay.

Stores updates in one transaction and acknowledges them by asking for the next ones; then, in
order within a chat: the chat's history, one model stream, one commit, one sendMessage. What
was stored and not answered is answered after a restart. Nothing else: no packs, tools, limits,
live edits, retries or log.

With `--own-clients` python-telegram-bot and the openai SDK bring the HTTP clients that they come
with, as everybody uses them: the second floor.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, cast

import aiohttp
import telegram

from aouo.telegram.http import AiohttpRequest

SCHEMA = """
CREATE TABLE IF NOT EXISTS inbox (update_id INTEGER PRIMARY KEY, chat_id INTEGER NOT NULL,
  text TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE INDEX IF NOT EXISTS inbox_open ON inbox (update_id) WHERE done = 0;
CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, chat_id INTEGER NOT NULL,
  role TEXT NOT NULL, text TEXT NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS messages_by_chat ON messages (chat_id, id);
"""


Ask: TypeAlias = Callable[[Sequence[dict[str, str]]], Awaitable[str]]
"""Streams the answer to these messages, and returns all of it."""


def connect(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL"):
        database.execute(f"PRAGMA {pragma}")
    database.executescript(SCHEMA)
    return database


class Floor:
    """One bot, one model, one file."""

    def __init__(
        self,
        *,
        bot: telegram.Bot,
        ask: Ask,
        database: sqlite3.Connection,
        history: int,
    ) -> None:
        self._bot = bot
        self._ask = ask
        self._database = database
        self._history = history
        self._waiting: dict[int, deque[tuple[int, str]]] = {}

    async def run(self) -> None:
        """Poll for ever."""
        offset, timeout_s = 0, 0
        async with asyncio.TaskGroup() as lanes:
            for update_id, chat_id, text in self._unanswered():
                self._wake(lanes, update_id, chat_id, text)
            while True:
                updates = await self._bot.get_updates(offset=offset, timeout=timeout_s)
                timeout_s = 50
                if updates:
                    offset = updates[-1].update_id + 1
                    for update_id, chat_id, text in self._store(updates):
                        self._wake(lanes, update_id, chat_id, text)

    def _unanswered(self) -> Sequence[tuple[int, int, str]]:
        return self._database.execute(
            "SELECT update_id, chat_id, text FROM inbox WHERE done = 0 ORDER BY update_id"
        ).fetchall()

    def _store(self, updates: Sequence[telegram.Update]) -> Sequence[tuple[int, int, str]]:
        """Store what is new; after this the next poll may acknowledge it."""
        fresh: list[tuple[int, int, str]] = []
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.execute("BEGIN IMMEDIATE")
        for update in updates:
            message = update.message
            if message is None or message.text is None:
                continue
            row = (update.update_id, message.chat.id, message.text)
            added = self._database.execute(
                "INSERT OR IGNORE INTO inbox (update_id, chat_id, text) VALUES (?, ?, ?)", row
            )
            if added.rowcount:
                fresh.append(row)
        self._database.execute("COMMIT")
        self._database.execute("PRAGMA synchronous=NORMAL")
        return fresh

    def _wake(self, lanes: asyncio.TaskGroup, update_id: int, chat_id: int, text: str) -> None:
        lane = self._waiting.setdefault(chat_id, deque())
        lane.append((update_id, text))
        if len(lane) == 1:
            lanes.create_task(self._drain(chat_id, lane))

    async def _drain(self, chat_id: int, lane: deque[tuple[int, str]]) -> None:
        while lane:
            await self._turn(chat_id, *lane[0])
            lane.popleft()
        del self._waiting[chat_id]

    async def _turn(self, chat_id: int, update_id: int, text: str) -> None:
        past = self._database.execute(
            "SELECT role, text FROM messages WHERE chat_id = ? ORDER BY id DESC LIMIT ?",
            (chat_id, self._history),
        ).fetchall()
        messages = [{"role": role, "content": said} for role, said in reversed(past)]
        answer = await self._ask([*messages, {"role": "user", "content": text}])
        self._database.execute("BEGIN IMMEDIATE")
        self._database.executemany(
            "INSERT INTO messages (chat_id, role, text) VALUES (?, ?, ?)",
            ((chat_id, "user", text), (chat_id, "assistant", answer)),
        )
        self._database.execute("UPDATE inbox SET done = 1 WHERE update_id = ?", (update_id,))
        self._database.execute("COMMIT")
        await self._bot.send_message(chat_id, answer)


@asynccontextmanager
async def _ours(options: argparse.Namespace) -> AsyncGenerator[tuple[telegram.Bot, Ask]]:
    """One aiohttp session for both, as ours has it."""
    name, place = _model(options)
    url = f"{place['base_url']}/chat/completions"
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {place['api_key']}"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(messages: Sequence[dict[str, str]]) -> str:
            body = {"model": name, "messages": messages, "stream": True}
            raw = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
            said: list[str] = []
            async with session.post(url, data=raw, headers=headers) as response:
                response.raise_for_status()
                pending = b""
                while data := await response.content.readany():
                    *lines, pending = (pending + data).split(b"\n")
                    said += [_delta(line[6:]) for line in lines if line.startswith(b"data: {")]
            return "".join(said)

        bot = telegram.Bot(
            options.token,
            base_url=f"{options.telegram}/bot",
            request=AiohttpRequest(session),
            get_updates_request=AiohttpRequest(session),
        )
        yield bot, ask


@asynccontextmanager
async def _theirs(options: argparse.Namespace) -> AsyncGenerator[tuple[telegram.Bot, Ask]]:
    """The clients that the two libraries bring."""
    import openai

    name, place = _model(options)
    client = openai.AsyncOpenAI(api_key=place["api_key"], base_url=place["base_url"])

    async def ask(messages: Sequence[dict[str, str]]) -> str:
        asked: Any = list(messages)
        stream: Any = await client.chat.completions.create(model=name, messages=asked, stream=True)
        said = [chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices]
        return "".join(said)

    async with client, telegram.Bot(options.token, base_url=f"{options.telegram}/bot") as bot:
        yield bot, ask


def _model(options: argparse.Namespace) -> tuple[str, dict[str, str]]:
    """Its name, and where it is."""
    settings = json.loads(options.model)
    return settings["provider"]["model"], settings["providers"][settings["provider"]["backend"]]


def _delta(raw: bytes) -> str:
    chunk: dict[str, Any] = json.loads(raw)
    choices = cast("list[dict[str, Any]]", chunk["choices"])
    return str(choices[0]["delta"].get("content") or "") if choices else ""


async def _serve(options: argparse.Namespace) -> None:
    clients = _theirs if options.own_clients else _ours
    async with clients(options) as (bot, ask):
        database = connect(options.database)
        await Floor(bot=bot, ask=ask, database=database, history=options.history).run()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--telegram", "--model", "--token", "--database"):
        parser.add_argument(name, required=True)
    parser.add_argument("--history", type=int, default=200)
    parser.add_argument("--own-clients", action="store_true")
    try:
        asyncio.run(_serve(parser.parse_args()))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
