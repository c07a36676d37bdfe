"""`aouo audit` and `aouo guard`: what became of tool calls, whether that was changed, and why."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aouo.cli.context import current_home, json_option, not_there, print_json
from aouo.plumbing.home import Home
from aouo.store.audit import broken, everything, head, of_call
from aouo.store.opening import reading

if TYPE_CHECKING:
    from aouo.config.settings import Settings

_HEAD = '"audit_head"'


@click.group()
def audit() -> None:
    """What became of tool calls."""


@audit.command("list")
@click.option("--limit", default=30, show_default=True, help="How many rows.")
@json_option
def list_(limit: int, as_json: bool) -> None:
    """List the newest rows, the newest last."""
    with reading(_database()) as tx:
        rows = everything(tx, head(tx).id - limit)
        if as_json:
            print_json(list(rows))
            return
        for row in rows:
            judged = f"  {row['judge']} (tier {row['tier']}): {row['reason']}"
            told = judged if row["judge"] else ""
            read = f" after {row['labels']}" if row["labels"] else ""
            click.echo(
                f"{row['at'][:19]}  {row['stage']:9}  {row['tool']}  {row['sink']}{read}  "
                f"{row['call_id']}{told}"
            )


@audit.command()
def export() -> None:
    """Print all rows as JSON, one a line, each with its link of the chain."""
    with reading(_database()) as tx:
        for row in everything(tx):
            click.echo(json.dumps(row, ensure_ascii=False))


@audit.command()
@click.option("--head", "named", multiple=True, help="A head noted elsewhere: ID:LINK.")
@json_option
def verify(named: tuple[str, ...], as_json: bool) -> None:
    """Check that no row was changed, removed, moved or cut off at the end; 1 = one was.

    The end is held against the heads in the log, and those named: a backup tells its own. It holds
    against whoever changes the database, not against whoever also rewrites the log and has no
    backup in the way.
    """
    home = current_home()
    heads = {int(one): link for one, _, link in (text.partition(":") for text in named)}
    heads |= dict(_noted(home))
    with reading(_database()) as tx:
        wrong, gone, last = broken(tx, heads)
    if as_json:
        print_json({"rows": last.id, "chain": last.chain, "wrong": wrong, "gone": gone})
    elif wrong:
        click.echo(f"Row {wrong} is not what was written, or one before it is gone.")
    if gone and not as_json:
        click.echo(f"Row {gone}, which was noted elsewhere, is gone or another one.")
    if wrong or gone:
        raise click.exceptions.Exit(1)
    if not as_json:
        click.echo(f"{last.id} rows, all as they were written. Head: {last.id}:{last.chain}")


def _noted(home: Home) -> Iterator[tuple[int, str]]:
    """Find the heads that the log tells of."""
    files = sorted(home.logs.glob(f"{home.log_file.name}*")) if home.logs.is_dir() else []
    for file in files:
        with file.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                with suppress(ValueError, KeyError):
                    if _HEAD in line and (facts := json.loads(line))["row"]:
                        yield int(facts["row"]), str(facts["chain"])


@click.group()
def guard() -> None:
    """What decides about tool calls."""


@guard.command()
@click.argument("call")
@json_option
def explain(call: str, as_json: bool) -> None:
    """Say which rule, label and tier decided about CALL, by its id."""
    from aouo.words.turns import explained

    with reading(_database()) as tx:
        rows = tx.ask(of_call(call))
        if as_json:
            print_json({"call": call, "text": explained(rows).text})
        else:
            click.echo(explained(rows).text)


@guard.command()
@json_option
def check(as_json: bool) -> None:
    """Read the policy, and name the rules that never decide: others come before them, or they name
    tools, apps or people that are not here; 1 = there are some."""
    import os

    from aouo.config.file import load_settings
    from aouo.guard.policy import policy_of

    home = current_home()
    settings = load_settings(home.path, os.environ).settings
    policy = policy_of(settings.security.policy, home.path)
    unreachable = policy.unreachable(_names(home, settings))
    sizes = {"deny": len(policy.deny), "ask": len(policy.verify), "allow": len(policy.allow)}
    if as_json:
        print_json({"unreachable": unreachable, **sizes})
    else:
        counts = ", ".join(f"{many} {what}" for what, many in sizes.items())
        click.echo("\n".join(unreachable) or f"Every rule can decide: {counts}.")
    if unreachable:
        raise click.exceptions.Exit(1)


def _names(home: Home, settings: Settings) -> Mapping[str, Collection[str]]:
    """Return the names of tools, apps and people that are here, by a rule's key; without tools
    while what a server has is not known, since it was never connected."""
    from aouo.agent.tools.mcp import prefix
    from aouo.guard.policy import policy_of
    from aouo.installer.installed import scan_at_rest
    from aouo.store import gates, people

    packs = scan_at_rest(home, settings.packs, settings.tools.enabled).packs.values()
    persons, trusted = {str(one): "" for one in settings.telegram.allowed_user_ids}, []
    if home.database.exists():
        with reading(home.database) as tx:
            persons |= {one.person: one.name for one in people.everybody(tx).values()}
            trusted = gates.trusted_tools(tx)
    tools = {name for rule in policy_of("default", home.path).allow for name in rule.tool}
    for pack in packs:
        own = (*(tool.name for tool in pack.tools), *pack.declared.actions)
        tools |= {f"{pack.name}__{name}" for name in own}
    tools |= {name for server, tool in trusted for name in (tool, f"{prefix(server)}{tool}")}
    known = {"pack": [pack.name for pack in packs], "person": [*persons, *persons.values()]}
    seen = settings.mcp.servers.keys() <= {server for server, _ in trusted}
    return known | ({"tool": tools} if seen else {})


def _database() -> Path:
    file = current_home().database
    if not file.exists():
        raise not_there("There is no audit yet.", fix="Say something to the bot.")
    return file
