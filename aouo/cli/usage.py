"""`aouo usage`: shows tokens and money by day, pack, model, person and scope."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from zoneinfo import ZoneInfo

import click

from aouo.cli.context import current_home, json_option, load, print_json
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.verbs import Facts
from aouo.store import usage_days, usage_report
from aouo.store.reading import reading
from aouo.store.usage_days import Asked

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
            asked = tx.ask(usage_days.asked(wanted))
    if as_json:
        print_json(facts)
        return
    for line in (*_lines(facts), *_unpriced(asked)):
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
