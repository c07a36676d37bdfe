"""Joins the commands: the built-in ones, and what the owner's files and packages bring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from aouo.app.shared import Shared
from aouo.app.unasked import failing_watches
from aouo.commands.builtin import HANDLERS, helping, list_sessions, stopping
from aouo.commands.files import CommandFiles
from aouo.commands.packages import commands_of_packages, post_actions_of_packages
from aouo.commands.post_actions import PostActions
from aouo.commands.registry import AddedCommand, Commands
from aouo.commands.scheduling import Scheduling
from aouo.commands.scripts import Scripts
from aouo.commands.spending import spending
from aouo.commands.status import status
from aouo.commands.summaries import ROTATE, rotate
from aouo.commands.why import why
from aouo.commands.working import Jobs
from aouo.facts.events import Inbound
from aouo.facts.notices_commands import BotState, ModelState
from aouo.facts.schedule_words import moment_in_words
from aouo.flow.generations import Generations
from aouo.providers.fallback import FallbackModel
from aouo.store import jobs
from aouo.store.database import Tx
from aouo.triggers.scheduling import ZoneOf


@dataclass(frozen=True, slots=True)
class Commanding:
    """All commands, the kinds of post-actions, and the owner's files."""

    commands: Commands
    post_actions: PostActions
    files: CommandFiles

    def problems(self) -> tuple[str, ...]:
        """What is wrong with the owner's files as they are now."""
        self.files.look()
        return self.files.problems()


def commanding(
    shared: Shared,
    generations: Generations,
    *,
    zone_of: ZoneOf,
    scheduling: Scheduling,
    work: Jobs,
    menu_changed: Callable[[], None],
    concerns: Callable[[], list[str]],
) -> Commanding:
    """Join them. `concerns` are lines about the models for the owner.

    Raises:
        SetupError: a package of the owner's does not bring what it says.
    """
    since = shared.clock.now()

    def is_owner(inbound: Inbound) -> bool:
        return generations.now.owner.is_owner(inbound)

    def bot(tx: Tx) -> BotState:
        return _bot(tx, shared, generations, zone_of, since, files.problems(), concerns())

    def added() -> Mapping[str, AddedCommand]:
        return {**files.look(), **brought}

    def seen() -> Mapping[str, AddedCommand]:  # transactions have a thread of their own
        return {**files.seen, **brought}

    brought = commands_of_packages()
    scripts = Scripts(shared.home.commands, lambda: generations.now.sandbox, is_owner)
    files = CommandFiles(scripts, brought, menu_changed)
    handlers = {
        **HANDLERS,
        "help": helping(seen),
        "stop": stopping(is_owner),
        "cron": scheduling.obey,
        "jobs": work.show,
        "status": status(is_owner, bot),
    }
    lookups = {
        "sessions": list_sessions,
        "usage": spending(lambda: generations.now.quota.day(), is_owner),
        "why": why(is_owner, lambda: shared.page.now(), lambda: generations.redactor),
    }
    post_actions = PostActions(post_actions_of_packages({ROTATE: rotate}))
    return Commanding(Commands(handlers, lookups, added), post_actions, files)


def _bot(
    tx: Tx,
    shared: Shared,
    generations: Generations,
    zone_of: ZoneOf,
    since: datetime,
    broken_commands: tuple[str, ...],
    concerns: list[str],
) -> BotState:
    """What /status tells the owner; the job that asks is not counted."""
    now, zone = generations.now, zone_of("")
    states = jobs.count_by_state(tx)
    return BotState(
        since=moment_in_words(since, zone),
        models=tuple(_models(generations, lambda at: moment_in_words(at, zone))),
        waiting=states.get("ready", 0) + states.get("gathering", 0),
        running=max(0, states.get("running", 0) - 1),
        parked=states.get("parked", 0),
        telegram=_telegram(shared),
        mcp=tuple(
            (group.removeprefix("mcp:"), " ".join(filter(None, (facts["state"], facts["why"]))))
            for group, facts in now.servers.facts().items()
        ),
        broken_packs=tuple(
            (name, str(problems[0])) for name, problems in now.library.broken.items() if problems
        ),
        broken_commands=broken_commands,
        concerns=(*concerns, *failing_watches(tx)),
    )


def _models(generations: Generations, said: Callable[[datetime], str]) -> list[ModelState]:
    model = generations.now.model
    if not isinstance(model, FallbackModel):
        return [ModelState(model.provider, model.model)]
    return [
        ModelState(
            one.provider, one.model, one.failures, one.last, said(one.until) if one.until else ""
        )
        for one in model.health
    ]


def _telegram(shared: Shared) -> str:
    """How Telegram is listened to, and what keeps it from being; "" = it is not."""
    if shared.telegram is None:
        return ""
    facts = shared.telegram.state
    return ": ".join(filter(None, (str(facts["state"]), str(facts.get("problem") or ""))))
