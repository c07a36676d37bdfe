"""Keeps a trial's home, and takes it to Telegram: what Ada kept becomes the owner's there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import Clock, iso, stamp
from aouo.plumbing.home import Home, write_atomically
from aouo.plumbing.logs import log
from aouo.store import deliveries, schedules
from aouo.store.opening import opened
from aouo.words.catalogue import say

_ADA = "1001"
_OF_ADA = f"tg_{_ADA}"
_LOCAL = ("bot_token", "allowed_user_ids", "message_batch_ms", "api_base_url")


def _mark(home: Home) -> Path:
    return home.path / "trial.json"


def is_kept(home: Home) -> bool:
    """Whether this is the home of a trial that nobody has taken to Telegram yet."""
    return _mark(home).exists()


def keep(home: Home) -> None:
    """Mark a trial's home as kept, and leave the local Telegram out of its configuration."""
    config: dict[str, Any] = json.loads(home.config.read_text("utf-8"))
    telegram = {key: one for key, one in config["telegram"].items() if key not in _LOCAL}
    write_atomically(home.config, json.dumps({**config, "telegram": telegram}, indent=2))
    write_atomically(_mark(home), json.dumps({"ada": _ADA}))


async def take_over(home: Home, owner: str, clock: Clock) -> None:
    """Make what Ada kept in a trial the owner's, whose Telegram id is `owner`: rows, files,
    settings and reminders. Her conversations, Ben, the group and the forum are left out, in
    `data/trial`. The caller holds the home's lock. Killed anywhere, it goes on the next time."""
    old = home.data / "trial"
    old.mkdir(exist_ok=True, mode=0o700)
    for path in sorted((*home.store.glob("*/tg_*"), *home.pack_data.glob("*/tg_*"))):
        _moved(path, home, owner, old)
    for name in ("zones", "languages", "telegram"):
        _renamed(home.settings / name, owner)
    if home.database.exists() and not (old / "aouo.db").exists():
        for path in home.data.glob("aouo.db*"):
            path.rename(old / path.name)
    chat = ConversationAddress("tg", owner)
    kept = []
    if (old / "aouo.db").exists():
        async with opened(old / "aouo.db") as database:
            kept = await database.read(schedules.everything)
    now = clock.now()
    async with opened(home.database) as database:
        for row in kept:
            if row.address == ConversationAddress("tg", _ADA) and row.origin != "default":
                own = replace(row, address=chat, person=owner)
                await database.transact(lambda tx, own=own: schedules.add(tx, own, iso(now)))
        said = say("about.taken-over")
        await database.transact(
            lambda tx: deliveries.add(tx, chat, "notice", said, stamp(clock), key="trial"),
            durable=True,
        )
    _mark(home).unlink()
    log.info("trial_taken_over", left_out=str(old))


def _moved(path: Path, home: Home, owner: str, old: Path) -> None:
    """Move one person's or group's rows or files: Ada's to the owner, the others away."""
    name = path.name
    of_ada = name == _OF_ADA or name.startswith((f"{_OF_ADA}.", f"{_OF_ADA}-"))
    if of_ada:
        target = path.with_name(f"tg_{owner}{name.removeprefix(_OF_ADA)}")
    else:
        target = old / path.relative_to(home.data)
        target.parent.mkdir(parents=True, exist_ok=True)
    if target != path and not target.exists() and name != f"tg_{owner}":
        path.rename(target)


def _renamed(file: Path, owner: str) -> None:
    """Let a file of what people have set hold Ada's as the owner's, and nobody else's."""
    if file.exists():
        found: dict[str, str] = json.loads(file.read_text("utf-8"))
        mine = found.get(_ADA, found.get(owner, ""))
        write_atomically(file, json.dumps({owner: mine} if mine else {}))
