"""`aouo usage`: shows tokens and money by day, pack, model, person and scope."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import click

from aouo.cli.context import current_home, json_option, load, print_json
from aouo.plumbing.clock import SystemClock
from aouo.store import usage_report
from aouo.store.reading import reading

Facts: TypeAlias = dict[str, Any]
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
    today = SystemClock().now().astimezone(ZoneInfo(timezone) if timezone else None).date()
    first_day = (today - timedelta(days=days - 1)).isoformat()
    facts: Facts = {"days": days, **usage_report.empty()}
    if home.database.exists():
        with reading(home.database) as tx:
            asked = usage_report.queries(first_day).items()
            facts |= {name: tx.ask(query) for name, query in asked}
    if as_json:
        print_json(facts)
        return
    for line in _lines(facts):
        click.echo(line)


def _lines(facts: Facts) -> Iterator[str]:
    days = facts["days"]
    yield _line("today" if days == 1 else f"{days} days", facts["totals"])
    for table, what in _TABLES:
        if facts[table]:
            yield ""
            yield f"By {what}"
        for row in facts[table]:
            yield _line(f"  {row[what] or '–'}", row)


def _line(name: str, row: Facts) -> str:
    """Return one row of a table, at most 80 characters wide if nothing is cached."""
    calls = "call " if row["calls"] == 1 else "calls"
    cached = f" ({row['cached_tokens']:,} cached)" if row["cached_tokens"] else ""
    return (
        f"{name:<24} {row['calls']:>7,} {calls} {row['input_tokens']:>11,} in "
        f"{row['output_tokens']:>9,} out {'$' + format(row['cost_usd'], ',.4f'):>10}{cached}"
    )
