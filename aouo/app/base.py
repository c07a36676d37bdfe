"""Holds what everything else stands on, opened before the rest is even imported."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import aiohttp

from aouo.facts.ports import Clock
from aouo.plumbing.home import Home
from aouo.plumbing.logs import Adopt, not_logging
from aouo.providers.dialect import Dialects
from aouo.store.database import Database
from aouo.telegram.channel import TelegramChannel


@dataclass(frozen=True, slots=True)
class Base:
    """The resources of a runtime; `stack` closes what is built on them, last first.

    Not `online`: no tool reaches the internet, whatever a pack may. `dialects` is what all models
    made here learn of their services. `adopt` tells the process log what to write and to hide.
    """

    home: Home
    clock: Clock
    database: Database
    session: aiohttp.ClientSession
    telegram: TelegramChannel | None
    stack: AsyncExitStack
    online: bool = True
    adopt: Adopt = not_logging
    dialects: Dialects = field(default_factory=Dialects)
