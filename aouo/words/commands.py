"""Makes what the owner's commands say one message, and the lines of `/status`."""

from __future__ import annotations

from collections.abc import Sequence

from aouo.facts.ports import Media, Rendered
from aouo.words.catalogue import LIMIT_UNITS, message, say, text
from aouo.words.models import no_answer_because

_OPENING_CHARS = 900
_LISTED = 10


def output(name: str, said: str) -> Rendered:
    """Return all that a command says: as a file below its beginning, if it is more than a message
    holds."""
    if not said.strip():
        return say("commands.silent", name=name)
    if len(said.encode("utf-16-le", "replace")) <= 2 * LIMIT_UNITS:
        return message(said)
    opening = said[:_OPENING_CHARS].rstrip() + "…"
    return Rendered(opening, media=Media("document", "", f"{name}.txt", said))


def unusable(name: str, problem: str) -> Rendered:
    """Say that a command of the owner's cannot run; `problem` "" = nobody here reads why."""
    if problem:
        return say("commands.unusable-because", name=name, problem=problem)
    return say("commands.unusable", name=name)


def at_work(where: str, running: int, waiting: int, parked: int = 0) -> str:
    """Return the line of `/status` about what is at work "here" or "everywhere"."""
    parts = [
        text(name, count=count)
        for name, count in (
            ("status.at-work", running),
            ("status.waiting", waiting),
            ("status.parked", parked),
        )
        if count
    ]
    what = ", ".join(parts) or text("status.idle")
    return text("status.work", where=text(f"status.where-{where}"), what=what)


def model(provider: str, name: str, failures: int = 0, last: str = "", until: str = "") -> str:
    """Return the line about a model: its failures in a row, the error class of the last one, and
    `until` when others are asked before it, "" = they are not."""
    if not failures:
        return text("status.model", provider=provider, model=name)
    return text(
        "status.model-failed",
        count=failures,
        provider=provider,
        model=name,
        why=no_answer_because(last),
        cools=text("status.model-cools", until=until) if until else "",
    )


def problems(lines: Sequence[str]) -> list[str]:
    """Return the lines about what is wrong, the first of them."""
    shown = [text("status.problem", what=line) for line in lines[:_LISTED]]
    more = len(lines) - _LISTED
    return [*shown, text("status.more", count=more)] if more > 0 else shown
