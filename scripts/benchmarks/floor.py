"""The smallest correct bot on our libraries: what every product on them has to pay.

Stores updates in one transaction and acknowledges them by asking for the next ones; then, in
order within a chat: the chat's history, one model stream, one commit, one sendMessage. What
was stored and not answered is answered after a restart. Nothing else: no packs, tools, limits,
live edits, retries or log.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
from collections import deque
from collections.abc import Sequence
from typing import Any, cast

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
        session: aiohttp.ClientSession,
        database: sqlite3.Connection,
        model: dict[str, Any],
        history: int,
    ) -> None:
        self._bot = bot
        self._session = session
        self._database = database
        self._model = model["provider"]["model"]
        place = model["providers"][model["provider"]["backend"]]
        self._model_url = f"{place['base_url']}/chat/completions"
        key = f"Bearer {place['api_key']}"
        self._headers = {"Content-Type": "application/json", "Authorization": key}
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

    async def _ask(self, messages: Sequence[dict[str, str]]) -> str:
        body = {"model": self._model, "messages": messages, "stream": True}
        raw = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        said: list[str] = []
        asking = self._session.post(self._model_url, data=raw, headers=self._headers)
        async with asking as response:
            response.raise_for_status()
            pending = b""
            while data := await response.content.readany():
                *lines, pending = (pending + data).split(b"\n")
                said += [_delta(line[6:]) for line in lines if line.startswith(b"data: {")]
        return "".join(said)


def _delta(raw: bytes) -> str:
    chunk: dict[str, Any] = json.loads(raw)
    choices = cast("list[dict[str, Any]]", chunk["choices"])
    return str(choices[0]["delta"].get("content") or "") if choices else ""


async def _serve(options: argparse.Namespace) -> None:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        bot = telegram.Bot(
            options.token,
            base_url=f"{options.telegram}/bot",
            request=AiohttpRequest(session),
            get_updates_request=AiohttpRequest(session),
        )
        floor = Floor(
            bot=bot,
            session=session,
            database=connect(options.database),
            model=json.loads(options.model),
            history=options.history,
        )
        await floor.run()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--telegram", "--model", "--token", "--database"):
        parser.add_argument(name, required=True)
    parser.add_argument("--history", type=int, default=200)
    try:
        asyncio.run(_serve(parser.parse_args()))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
