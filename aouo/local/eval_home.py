"""Makes the temporary home of one eval: its packs, first rows, settings and clock."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from aouo.app.services import model_of
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
from aouo.plumbing.resources import Holder
from aouo.sandbox.levels import Wish
from aouo.store import routes
from aouo.store.database import Database, Tx
from aouo.web.session import session_through

PERSON = 1001
OWNER = f"tg_{PERSON}"  # as turns call a person in their private chat
_PRICE = {"input": 0.15, "cached": 0.075, "output": 0.60}
"""USD per million tokens of a scripted model: the price of a small hosted one."""


class Impatient:
    """The system clock with shorter short waits, since a local Telegram has no limits.

    In a turn whose model answers at once, only the pacing for Telegram's limits waits so long.
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
    """Fill a fresh home with the packs, and with the rows and memory that the eval begins with."""
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
    """Return the eval's settings, with the owner's `sandbox` and, from `real`, their models."""
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
    held = await stack.enter_async_context(Holder())
    return await model_of(settings, session, held, SystemClock())


async def bind(database: Database, clock: Clock, pack: str) -> None:
    """Bind the person's chat to the pack, which is needed if others are installed too."""
    now = stamp(clock)
    address = ConversationAddress("tg", str(PERSON))

    def write(tx: Tx) -> None:
        routes.set_pack(tx, routes.get_or_create(tx, address, "private", now), pack, now)

    await database.transact(write)
