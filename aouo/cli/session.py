"""`aouo session` and `usage`: show what was said, and what was used in tokens and money."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any
from zoneinfo import ZoneInfo

import click

from aouo.cli.asking import heading
from aouo.cli.context import current_home, json_option, load, not_there, print_json
from aouo.facts.errors import SetupError
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.control import Facts
from aouo.store import search, usage_report
from aouo.store.opening import reading
from aouo.store.search import Entry, Session
from aouo.store.usage_report import Asked, Sum, sums


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
            found = search.stored_sessions(tx, limit, pack, runs=runs)
    if as_json:
        print_json({"sessions": [asdict(each) for each in found]})
        return
    if not found:
        click.echo(f"There is no session {f'with {pack} ' if pack else ''}yet.")
    else:
        heading(f"{'KIND':<12}" * runs + f"{'UPDATED':<16}  {'MESSAGES':>14}  {'PACK':<12} ID")
    for each in found:
        kind = f"{each.id.partition('/')[0]:<12}" if runs else ""
        click.echo(
            f"{kind}{each.updated_at[:16].replace('T', ' ')}  {each.messages:>5} messages  "
            f"{each.pack or '–':<12} {each.id.rpartition('/')[2]}  {each.title}"
        )


@session.command("show")
@click.argument("session_id", metavar="ID")
@json_option
def _show(session_id: str, as_json: bool) -> None:
    """Show one session; ID is its id, or the token at the end of it."""
    file = current_home().database
    if not file.exists():
        raise _not_there(session_id)
    with reading(file) as tx:
        found = search.stored_session(tx, session_id)
        if found is None:
            raise _not_there(session_id)
        said = search.stored_entries(tx, found.id)
        used = tx.ask(usage_report.of_session(found.id))
    if as_json:
        print_json(
            {**asdict(found), "usage": sums(used), "messages": [_fields(entry) for entry in said]}
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


_TABLES = (
    ("by_day", "day"),
    ("by_pack", "pack"),
    ("by_model", "model"),
    ("by_person", "person"),
    ("by_scope", "scope"),
)


@click.command()
@click.option("--days", type=click.IntRange(1, 3650), default=30, help="How many, today included.")
@json_option
def usage(days: int, as_json: bool) -> None:
    """Show what was used in the last 30 days, in tokens and money."""
    home = current_home()
    timezone = load(home).settings.cron.timezone
    today = (
        SystemClock().now().astimezone(ZoneInfo(timezone) if timezone else None).date().isoformat()
    )
    facts: Facts = {"days": days, **usage_report.empty()}
    asked: list[Asked] = []
    if home.database.exists():
        with reading(home.database) as tx:
            wanted = usage_report.last_days(today, days)
            facts |= {name: tx.ask(query) for name, query in usage_report.queries(wanted).items()}
            asked = tx.ask(usage_report.asked(wanted))
    if as_json:
        print_json(facts)
        return
    for line in (*_usage_lines(facts), *_unpriced(asked)):
        click.echo(line)


def _usage_lines(facts: Facts) -> Iterator[str]:
    days = facts["days"]
    yield _line("today" if days == 1 else f"{days} days", facts["totals"])
    for table, what in _TABLES:
        if facts[table]:
            yield ""
            yield f"By {what}"
        for row in facts[table]:
            yield _line(f"  {row[what] or '–'}", row)


def _unpriced(asked: Sequence[Asked]) -> Iterator[str]:
    """Name what may have cost something that the sums do not have."""
    found = [one for one in asked if one.unpriced]
    if found:
        yield ""
        yield "Without a known price, so not in these sums"
    for one in found:
        calls = "call" if one.unpriced == 1 else "calls"
        yield f"  {one.model or one.scope:<22} {one.unpriced:>7,} {calls}"


def _line(name: str, row: Facts) -> str:
    """Return one row of a table, at most 80 characters wide if nothing is cached."""
    calls = "call " if row["calls"] == 1 else "calls"
    cached = f" ({row['cached_tokens']:,} cached)" if row["cached_tokens"] else ""
    return (
        f"{name:<24} {row['calls']:>7,} {calls} {row['input_tokens']:>11,} in "
        f"{row['output_tokens']:>9,} out {'$' + format(row['cost_usd'], ',.4f'):>10}{cached}"
    )
