"""`aouo trace`: shows one turn, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import click

from aouo.cli.context import NotThere, current_home, json_option, print_json
from aouo.store import traces
from aouo.store.reading import reading
from aouo.store.traces import Trace


@click.command()
@click.argument("turn", default="", metavar="[TURN]")
@json_option
def trace(turn: str, as_json: bool) -> None:
    """Show one turn: its steps, model calls, tool calls and messages.

    TURN is its id, as the log says it, or the end of one; without it, the newest turn.
    """
    file = current_home().database
    found: Trace | None = None
    if file.exists():
        with reading(file) as tx:
            found = traces.trace(tx, turn)
    if found is None:
        raise NotThere(
            f"There is no turn {turn!r}." if turn else "There is no turn yet.",
            fix="`turn_done` in `aouo logs` names them." if turn else "Say something to the bot.",
        )
    if as_json:
        print_json(asdict(found))
        return
    for line in _lines(found):
        click.echo(line)


def _lines(found: Trace) -> Iterator[str]:
    taken_up = f", taken up {found.resumes} times" if found.resumes else ""
    yield f"{found.id}  {found.status}{taken_up}"
    yield f"{found.started_at} – {found.settled_at or 'still open'}"
    yield f"pack {found.pack or 'none'}, session {found.session_id}"
    if found.reason:
        yield found.reason
    if found.steps:
        yield "\nSteps                                      calls        ms"
        for step in found.steps:
            yield f"  {step.name:<40} {step.calls:>5} {step.ms:>9.2f}"
    if found.calls:
        yield "\nCalls to services"
        for call in found.calls:
            yield (
                f"  {call.scope:<8} {call.provider}/{call.model}  "
                f"{call.input_tokens:,} in ({call.cached_tokens:,} cached), "
                f"{call.output_tokens:,} out, {call.duration_ms:,} ms, ${call.cost_usd:,.4f}"
            )
    if found.tools:
        yield "\nTools"
        for use in found.tools:
            effect = ", took effect" if use.effect else ""
            yield f"  {use.name:<20} {use.state}{effect}, {use.duration_ms:,} ms"
    if found.deliveries:
        yield "\nMessages"
        for sent in found.deliveries:
            number = f" as {sent.message_id}" if sent.message_id else ""
            why = f": {sent.error}" if sent.error else ""
            yield f"  {sent.kind:<8} {sent.state}{number}{why}"
