"""`aouo doctor`: checks everything that the bot needs, and says how to mend failures."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import asdict

import click

from aouo.cli.context import current_home, json_option, print_json
from aouo.cli.doctoring import models as doctor_models
from aouo.cli.doctoring.check import Check
from aouo.config.file import ConfigBroken, Loaded, load_settings
from aouo.config.settings import Settings
from aouo.facts.errors import SetupError
from aouo.guard.policy import policy_of
from aouo.packs.format.problems import Problem
from aouo.plumbing.home import Home, is_locked, running_pid

_PYTHON = (3, 11)
_SQLITE = (3, 38, 0)
"""The first version with `unixepoch()`; STRICT tables and RETURNING are older."""

_WORST = ("fail", "warn", "ok", "skip")
_GROUPS_ASKED = 20

_NO_TOKEN = Check(
    "telegram",
    "warn",
    "there is no bot token",
    "Set telegram.bot_token (from @BotFather); `aouo try` works without one.",
)
"""A warning, no failure, since only `aouo start` needs a token."""


@click.command()
@click.option("--fast", is_flag=True, help="Leave out what needs the network.")
@json_option
def doctor(fast: bool, as_json: bool) -> None:
    """Check everything the bot needs; exit 1 if anything fails.

    Each configured model is asked one small question with a tool, which costs a fraction of a
    cent; --fast leaves that out.
    """
    home = current_home()
    checks = list(_checks(home, fast=fast))
    failed = any(check.status == "fail" for check in checks)
    if as_json:
        print_json({"ok": not failed, "checks": [asdict(check) for check in checks]})
    else:
        for check in sorted(checks, key=lambda check: _WORST.index(check.status)):
            click.echo(check.line)
        click.echo(_summary(checks))
    if failed:
        click.get_current_context().exit(1)


def _summary(checks: list[Check]) -> str:
    """Return the last line: how many findings, and whether a missing token prevents a start."""
    counted = [
        f"{number} {word}{'s' if number > 1 else ''}"
        for mark, word in (("fail", "failure"), ("warn", "warning"))
        if (number := sum(check.status == mark for check in checks))
    ]
    summary = f"{', '.join(counted) or 'No failures, no warnings'}."
    if _NO_TOKEN in checks:
        summary += " `aouo start` will refuse without a bot token."
    return summary


def _checks(home: Home, *, fast: bool) -> Iterator[Check]:
    yield _python()
    yield _sqlite()
    yield _home(home)
    loaded: Loaded | None = None
    try:
        loaded = load_settings(home.path, os.environ)
    except ConfigBroken as broken:
        yield from _config_problems(home, broken.problems)
    yield _lock(home)
    if loaded is None:
        return
    yield from _config(home, loaded)
    settings = loaded.settings
    yield from _people(settings)
    if wrong := _database(home):
        yield wrong
        return
    yield from _packs(home, settings)
    yield from _commands(home)
    yield from _unfinished(home)
    from aouo.cli.doctoring import parts as doctor_parts

    for check in doctor_parts.network():
        yield check
        fast = fast or check.status == "fail"  # the network cannot be used
    yield from _telegram(home, settings, fast=fast)
    checks, prices = doctor_models.models(settings, fast=fast)
    yield from checks
    yield from doctor_parts.budgets(settings, prices)
    yield from doctor_parts.disk(home)
    yield from doctor_parts.speech(settings, fast=fast)
    yield doctor_parts.sandbox(home, settings)
    if not settings.mcp.servers:
        return
    if fast:
        yield Check("mcp", "skip", "needs the network")
    else:
        yield from doctor_parts.mcp_servers(settings)


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= _PYTHON:
        return Check("python", "ok", version)
    return Check("python", "fail", version, "Install Python 3.11 or newer.")


def _sqlite() -> Check:
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info >= _SQLITE:
        return Check("sqlite", "ok", version)
    return Check("sqlite", "fail", version, "Use a Python built with SQLite 3.38 or newer.")


def _home(home: Home) -> Check:
    if not home.path.is_dir():
        return Check("home", "fail", f"{home.path} is not there", "Run `aouo init`.")
    if not os.access(home.path, os.W_OK | os.X_OK):
        return Check("home", "fail", f"{home.path} cannot be written", "Change its owner or mode.")
    others = home.path.stat().st_mode & 0o077
    if others or (home.config.exists() and home.config.stat().st_mode & 0o077):
        return Check(
            "home",
            "warn",
            f"{home.path} or its config.json can be read by others",
            f"chmod 700 {home.path}; chmod 600 {home.config}",
        )
    return Check("home", "ok", str(home.path))


def _database(home: Home) -> Check | None:
    """Return what is wrong with the database, None = it can be read, or there is none yet."""
    from aouo.store.opening import reading

    if not home.database.exists():
        return None
    try:
        with reading(home.database):
            return None
    except SetupError as error:
        return Check("database", "fail", error.problem, error.fix)


def _config_problems(home: Home, problems: tuple[str, ...]) -> Iterator[Check]:
    for problem in problems:
        yield Check("config", "fail", problem, f"Edit {home.config} or run `aouo config edit`.")


def _config(home: Home, loaded: Loaded) -> Iterator[Check]:
    if loaded.from_last_good:
        yield from _config_problems(home, loaded.problems)
        return
    there = "valid" if home.config.exists() else "there is none: the defaults are used"
    yield Check("config", "ok", "; ".join((there, *loaded.notes)))
    yield _policy(home, loaded.settings)
    telegram = loaded.settings.telegram
    if telegram.bot_token.get_secret_value() or not telegram.enabled:
        for refusal in loaded.settings.refusals():
            yield Check("config", "fail", refusal.problem, refusal.fix)


def _policy(home: Home, settings: Settings) -> Check:
    """Read the policy as the bot does, and name the rules that never decide."""
    name = settings.security.policy
    try:
        found = policy_of(name, home.path).unreachable()
    except SetupError as error:
        return Check("policy", "fail", str(error), error.fix)
    if found:
        return Check("policy", "warn", "; ".join(found), "Move or remove those rules.")
    return Check("policy", "ok", f"{name}: every rule can decide")


def _lock(home: Home) -> Check:
    if is_locked(home):
        return Check("lock", "ok", f"aouo runs here as pid {running_pid(home)}")
    return Check("lock", "ok", "free: no aouo runs here")


def _people(settings: Settings) -> Iterator[Check]:
    if not settings.telegram.enabled:
        return
    allowed = settings.telegram.allowed_user_ids
    if not allowed:
        yield Check(
            "people",
            "warn",
            "nobody may talk to the bot",
            "Write /id to it, then run `aouo config set telegram.allowed_user_ids ID`.",
        )
    elif settings.telegram.owner not in allowed:
        yield Check(
            "people",
            "warn",
            f"the owner {settings.telegram.owner} is not among telegram.allowed_user_ids",
            "Add the owner's id there too.",
        )
    else:
        yield Check("people", "ok", f"{len(allowed)} allowed, owner {settings.telegram.owner}")


def _mending(home: Home, name: str, problem: Problem) -> str:
    """Return what to do about a broken pack; "" if the problem says so itself."""
    if problem.file in (name, home.config.name):
        return ""
    if problem.field.startswith("depends_on"):
        return "Install or upgrade the pack that it depends on."
    folder = home.packs / name
    return f"Run `aouo pack validate {folder}`." if folder.exists() else ""


def _packs(home: Home, settings: Settings) -> Iterator[Check]:
    from aouo.cli.packs.info import RELOAD, unread
    from aouo.installer.installed import scan_at_rest

    library = scan_at_rest(home, settings.packs, settings.tools.enabled)
    for name, problems in library.broken.items():
        for problem in problems:
            yield Check(f"pack {name}", "fail", str(problem), _mending(home, name, problem))
    for name, problems in library.warnings.items():
        for problem in problems:
            yield Check(f"pack {name}", "warn", str(problem))
    for name, why in unread(home).items():
        yield Check(f"pack {name}", "warn", why, RELOAD)
    if library.names:
        yield Check("packs", "ok", ", ".join(library.names))
    elif not library.broken:
        yield Check(
            "packs",
            "warn",
            "none is installed",
            "Write /install to the bot, or run `aouo pack install notes`.",
        )


def _commands(home: Home) -> Iterator[Check]:
    """Check the owner's commands/*.md; without any there is nothing to say."""
    from aouo.flow.commands.files import COMMANDS_GROUP, command_files, problems_of
    from aouo.plumbing import resources

    taken = [entry.name for entry in resources.found_entry_points(COMMANDS_GROUP)]
    files = command_files(home.commands, taken)
    wrong = tuple(problems_of(home.commands, files))
    for problem in wrong:
        yield Check("commands", "warn", problem, "Edit that file; the next message sees it.")
    if files and not wrong:
        yield Check("commands", "ok", ", ".join(f"/{command.name}" for command in files))


def _unfinished(home: Home) -> Iterator[Check]:
    from aouo.installer.unfinished import unfinished

    for item in unfinished(home):
        yield Check("unfinished", "warn", f"{item.what}: {item.why}", f"{item.fix}.")


def _telegram(home: Home, settings: Settings, *, fast: bool) -> Iterator[Check]:
    if not settings.telegram.enabled:
        yield Check("telegram", "skip", "telegram.enabled is false: only the local page is used")
        return
    if not settings.telegram.bot_token.get_secret_value():
        yield _NO_TOKEN
        return
    if fast:
        yield Check("telegram", "skip", "needs the network")
        return
    from aouo.cli.doctoring import parts
    from aouo.store import routes
    from aouo.store.opening import reading

    bot = parts.telegram(settings)
    yield bot
    if bot.status != "ok":
        return
    if hook := parts.webhook(settings):
        yield hook
    if home.database.exists():
        all_talk = settings.telegram.groups == "all"
        with reading(home.database) as tx:
            chats = routes.groups(tx, "tg", all_talk=all_talk)
        yield from parts.groups(settings, chats[:_GROUPS_ASKED])
