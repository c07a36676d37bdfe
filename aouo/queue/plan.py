"""Plans a turn before it begins: session, tools, limits, where its answer goes. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from aouo.facts.commands import COMMANDS
from aouo.facts.events import Album, Attached, Command, Content, Hints, Origin, Triggered
from aouo.facts.people import PROFILES, Goes, SessionMode


@dataclass(frozen=True, slots=True)
class Plan:
    """How one turn is run.

    `tools` are exactly those that it may call, None = those that its pack permits; never those of
    `without`. A turn may take `timeout_s` and `tokens_max`, 0 = as any turn.
    """

    stream: bool
    mode: SessionMode
    goes: Goes
    tools: tuple[str, ...] | None
    without: tuple[str, ...]
    timeout_s: int
    tokens_max: int
    hints: Hints

    @property
    def slash_name(self) -> str:
        """The command that began the turn, "" = none did."""
        return self.hints.slash_command or self.hints.builtin_command


def plan(origin: Origin, content: Content, *, streams: bool, message_id: int = 0) -> Plan:
    """Plan the turn of an inbound; `streams`: its channel can show an answer while it grows."""
    profile, hints = PROFILES[origin], _hints_of(content, message_id)
    run = content if isinstance(content, Triggered) else None
    return Plan(
        stream=streams and not hints.force_sync,
        mode=profile.mode,
        goes=profile.goes,
        tools=profile.tools,
        without=profile.without,
        timeout_s=run.timeout_s if run else 0,
        tokens_max=run.tokens_max if run else 0,
        hints=hints,
    )


def _hints_of(content: Content, message_id: int = 0) -> Hints:
    """Return the hints that lie in an inbound's content."""
    match content:
        case Triggered():
            return Hints(force_sync=True)
        case (
            Command(name, rest)
            | Attached(command=Command(name, rest))
            | Album(command=Command(name, rest))
        ):
            builtin = name in COMMANDS
            return Hints(name if builtin else "", "" if builtin else name, rest, message_id)
        case _:
            return Hints(message_id=message_id)
