"""Answers what is configured, and saves changes of it through the running bot."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from aouo.app.reloading import by_effect
from aouo.config.catalogue import keys_in
from aouo.config.changing import change, put_back, read_tree, version_of
from aouo.config.file import ConfigBroken, Loaded, check_start, look_at
from aouo.config.keys import differing, plain
from aouo.dashboard.access import Shown
from aouo.dashboard.configuration import (
    BY_HAND,
    NotTaken,
    as_problem,
    checked,
    configuration,
    losses,
)
from aouo.dashboard.endpoints import Endpoint
from aouo.facts.errors import Refused
from aouo.plumbing.control import Facts
from aouo.plumbing.logs import log
from aouo.plumbing.waiting import finish

if TYPE_CHECKING:
    from aouo.app.lifecycle import Runtime


class _Loses(Exception):
    """A change would take something away; `args` are the sentences."""


def settings(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints about the configuration."""
    one_by_one = asyncio.Lock()

    async def read() -> Facts:
        """Every key of the configuration: what it may be, what the file has, what is in force."""
        facts = await asyncio.to_thread(_told, shown)
        return {"running": shown.runtime is not None, "by_hand": BY_HAND, **facts}

    async def save(
        version: str, changes: dict[str, Any], anyway: bool = False
    ) -> Facts | tuple[int, Facts]:
        """Save changes of the configuration, all or none, and take them up.

        They are by key, null = its default; `version` is that of the file which was read,
        `anyway`: what would be lost is meant to be.
        """
        if shown.runtime is None:
            raise Refused("No bot runs that could take it up: `aouo config set` saves it.")
        async with one_by_one:
            try:
                return await finish(_save(shown, shown.runtime, changes, version, anyway=anyway))
            except (ConfigBroken, NotTaken) as refused:
                return _refused(refused.problems)
            except _Loses as lost:
                why = "This would take something away. Save it anyway?"
                return 409, {"error": why, "losses": list(lost.args)}

    return (
        Endpoint("GET", "/api/settings", read),
        Endpoint("POST", "/api/settings", save, body=True),
    )


def _told(shown: Shown) -> Facts:
    if shown.runtime is None:
        loaded = look_at(shown.home.path, shown.environ)
        settings, problems = loaded.settings, loaded.problems
    else:
        reloading = shown.runtime.reloading
        settings, problems = reloading.running, reloading.facts["problems"]
    return configuration(shown.home, settings, shown.environ, shown.redactor(), problems)


async def _save(shown: Shown, bot: Runtime, changes: Facts, version: str, *, anyway: bool) -> Facts:
    """Write the changes and have the bot take them up; what it cannot use is not left in the file.

    Raises:
        NotTaken: a key is not the page's to change.
        ConfigBroken: the whole would have problems, or cannot be used.
        ChangedMeanwhile: the file is another one.
        _Loses: something would be lost, and nobody said that it may be.
    """
    before = bot.reloading.accepted.settings
    text, loaded, version = await asyncio.to_thread(
        _written, shown, bot, changes, version, anyway=anyway
    )
    log.info("config_saved", keys=sorted(changes), origin="web")
    problems: Sequence[str] = (await bot.reload())["config"]["problems"]
    if problems:
        await asyncio.to_thread(put_back, shown.home.path, text, version)
        await bot.reload()
        raise ConfigBroken(tuple(problems), shown.home.config)
    told = by_effect(differing(before, loaded.settings))
    return {
        "version": version,
        "changed": list(told.changed),
        "after_restart": bot.reloading.facts["after_restart"],
    }


def _written(
    shown: Shown, bot: Runtime, changes: Facts, version: str, *, anyway: bool
) -> tuple[str | None, Loaded, str]:
    """Check the changes and write them; return the file's text before, and what it is now."""
    home, then = shown.home.path, bot.reloading.accepted.settings

    def accept(after: Loaded) -> None:
        check_start(then, after.settings)
        if not anyway and (lost := losses(then, after.settings)):
            raise _Loses(*lost)

    keys = {key.path: key for key in keys_in(read_tree(home), plain(bot.reloading.running))}
    wanted = checked(changes, keys)
    before, loaded = change(home, wanted, shown.environ, version=version, accept=accept)
    return before, loaded, version_of(home)


def _refused(problems: Sequence[str]) -> tuple[int, Facts]:
    """Answer with every problem, by its key; nothing was written."""
    told = [as_problem(problem) for problem in problems]
    more = "" if len(told) == 1 else f" and {len(told) - 1} more"
    first = ": ".join(filter(None, (told[0]["key"], told[0]["text"])))
    return 400, {"error": f"Nothing was saved: {first}{more}.", "problems": told}
