"""The throw-away home of one eval: its packs, what is there before, its settings and its time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from aouo.app.models import model_of
from aouo.config.file import Loaded, load_settings
from aouo.config.settings import Settings
from aouo.emulator import Emulator
from aouo.facts.address import ConversationAddress
from aouo.facts.ports import ChatModel, Clock, stamp
from aouo.local.scripted import ScriptedModel
from aouo.packs.evals import rows as eval_rows
from aouo.packs.evals.cases import Eval
from aouo.packs.library import EMPTY, Library
from aouo.packs.load import Pack
from aouo.packs.stores import PackStores
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.home import Home, write_atomically
from aouo.sandbox.levels import Wish
from aouo.store import routes
from aouo.store.database import Database, Tx
from aouo.web.session import session_through

PERSON = 1001
OWNER = f"tg_{PERSON}"  # as turns call a person in their private chat
_PRICE = {"input": 0.15, "cached": 0.075, "output": 0.60}
"""USD for a million tokens of a scripted model: what a small hosted one costs."""


class Impatient:
    """The machine's time, with short waits cut shorter: a local Telegram asks for none.

    Only what Telegram's limits make us wait lasts so long in a turn whose model answers at once.
    """

    def __init__(self, system: Clock | None = None) -> None:
        self._system = system or SystemClock()

    def now(self) -> datetime:
        return self._system.now()

    def monotonic_s(self) -> float:
        return self._system.monotonic_s()

    async def sleep(self, seconds: float) -> None:
        await self._system.sleep(seconds / 50 if 0.4 <= seconds <= 5 else seconds)


def furnish(home: Home, pack: Pack, found: Eval, beside: Sequence[Path]) -> PackStores:
    """Fill a fresh home: the packs, and what the eval says is there before it begins."""
    home.create()
    (home.packs / pack.name).symlink_to(pack.folder.resolve())
    for folder in beside:
        (home.packs / folder.name).symlink_to(folder.resolve())
    only = Library({pack.name: pack}, EMPTY.broken, EMPTY.warnings)
    stores = PackStores(home, lambda: only, SystemClock())
    try:
        stores.open(pack.name, OWNER)
    finally:
        stores.close()
    eval_rows.put(stores.file(pack.name, OWNER), found.start, stamp(SystemClock()))
    for name, text in found.memory.items():
        folder = stores.private(pack.name, OWNER)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(folder / name, text)
    return stores


def configure(home: Home, emulator: Emulator, real: Settings | None, sandbox: Wish) -> Loaded:
    """Settings of the eval's own; of the owner's only `sandbox` and what reaches a model."""
    config = {
        "telegram": {
            "bot_token": emulator.token,
            "allowed_user_ids": [PERSON],
            "api_base_url": emulator.base_url,
            "streaming": "off",
        },
        "budgets": {"prices": {ScriptedModel.model: _PRICE}},
        "security": {"sandbox": sandbox},
    }
    write_atomically(home.config, json.dumps(config))
    loaded = load_settings(home.path, {})
    if real is None:
        return loaded
    names = ("provider", "openai", "groq", "gemini", "deepseek", "local", "providers", "budgets")
    taken = {name: getattr(real, name) for name in names}
    return replace(loaded, settings=loaded.settings.model_copy(update=taken))


async def real_model(settings: Settings, stack: AsyncExitStack) -> ChatModel:
    session = await stack.enter_async_context(session_through())
    return await model_of(settings, session, stack, SystemClock())


async def bind(database: Database, clock: Clock, pack: str) -> None:
    """With others installed beside it, the pack has to be chosen."""
    now = stamp(clock)
    address = ConversationAddress("tg", str(PERSON))

    def write(tx: Tx) -> None:
        routes.set_pack(tx, routes.get_or_create(tx, address, "private", now), pack, now)

    await database.transact(write)
