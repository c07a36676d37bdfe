"""`aouo session`: lists sessions, and shows the messages of one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from aouo.cli.context import current_home, json_option, not_there, print_json
from aouo.facts.errors import SetupError
from aouo.store import archive, usage_days
from aouo.store.archive import Entry, Session
from aouo.store.reading import reading
from aouo.store.usage_days import Sum
from aouo.store.usage_report import sums


@click.group()
def session() -> None:
    """List sessions, and show what was said."""


@session.command("list")
@click.option("--pack", default="", metavar="NAME", help="Only those with this pack.")
@click.option("--limit", type=click.IntRange(1), default=20, help="At most so many, newest first.")
@click.option("--all", "runs", is_flag=True, help="Also what began by itself, a session a run.")
@json_option
def list_(pack: str, limit: int, runs: bool, as_json: bool) -> None:
    """List the newest sessions: conversations, and with --all runs of schedules and the like."""
    file = current_home().database
    found: list[Session] = []
    if file.exists():
        with reading(file) as tx:
            found = archive.sessions(tx, limit, pack, runs=runs)
    if as_json:
        print_json({"sessions": [asdict(each) for each in found]})
        return
    if not found:
        click.echo(f"There is no session {f'with {pack} ' if pack else ''}yet.")
    for each in found:
        kind = f"{each.id.partition('/')[0]:<12}" if runs else ""
        click.echo(
            f"{kind}{each.updated_at[:16].replace('T', ' ')}  {each.messages:>5} messages  "
            f"{each.pack or '–':<12} {each.id.rpartition('/')[2]}  {each.title}"
        )


@session.command("show")
@click.argument("session_id", metavar="ID")
@json_option
def show(session_id: str, as_json: bool) -> None:
    """Show one session; ID is its id, or the token at the end of it."""
    file = current_home().database
    if not file.exists():
        raise _not_there(session_id)
    with reading(file) as tx:
        found = archive.session(tx, session_id)
        if found is None:
            raise _not_there(session_id)
        said = archive.entries(tx, found.id)
        used = tx.ask(usage_days.of_session(found.id))
    if as_json:
        print_json(
            {
                **asdict(found),
                "usage": sums(used),
                "messages": [_fields(entry) for entry in said],
            }
        )
        return
    click.echo(_head(found, used))
    for entry in said:
        for line in _lines(entry):
            click.echo(line)


def _not_there(session_id: str) -> SetupError:
    return not_there(
        f"There is no session {session_id!r}.", fix="`aouo session list` shows what is there."
    )


def _fields(entry: Entry) -> dict[str, Any]:
    """Return a message's fields, by its role; arguments stay the model's text."""
    facts: dict[str, Any] = {
        "id": entry.id,
        "turn_id": entry.turn_id,
        "role": entry.role,
        "text": entry.text,
        "created_at": entry.created_at,
    }
    match entry.role:
        case "assistant":
            facts["calls"] = [asdict(call) for call in entry.calls]
            facts["thoughts"] = list(entry.thoughts)
        case "tool":
            facts |= {"tool": entry.tool, "call_id": entry.call_id, "failed": entry.failed}
        case _:
            pass
    return facts


def _head(found: Session, used: Sum) -> str:
    return (
        f"{found.title or 'untitled'}\n{found.id}\n"
        f"{found.conversation}, {f'pack {found.pack}' if found.pack else 'no pack'}, "
        f"{found.created_at[:16]} – {found.updated_at[:16]}, {used.calls:,} calls, "
        f"{used.input_tokens + used.output_tokens:,} tokens, ${used.cost_usd:,.4f}"
    )


def _lines(entry: Entry) -> Iterator[str]:
    who = f"tool {entry.tool}{' (failed)' if entry.failed else ''}" if entry.tool else entry.role
    yield f"\n[{entry.created_at[:16].replace('T', ' ')}] {who}"
    if entry.text:
        yield entry.text
    for call in entry.calls:
        yield f"→ {call.name} {_short(call.arguments)}"
    for thought in entry.thoughts:
        yield f"· {thought.get('stage', '')}: {thought.get('summary', '')}"


def _short(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments
