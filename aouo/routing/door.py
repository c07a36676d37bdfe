"""What is decided before the lane: whether a fact is ours, and whether it waits. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from aouo.facts.events import (
    Album,
    Attached,
    Button,
    Command,
    DraftStopped,
    Edited,
    Inbound,
    Intruder,
    Migrated,
    Reacted,
    Standing,
    Text,
    TopicShut,
)
from aouo.routing.installed import Installed

BYPASSING = frozenset(
    {"stop", "id", "whereami", "help", "start", "pack", "menu", "sessions", "usage"}
)
"""`/stop`, and what only looks."""
LEAVING = frozenset({"new", "retry"})
"""Who sends these leaves a question unanswered; they close it as `/stop` does."""


@dataclass(frozen=True, slots=True)
class Doorkeeper:
    """What is decided before the lane; see `queue.inbox.Policy`."""

    installed: Installed

    def concerns_us(self, inbound: Inbound, active_pack: str) -> bool:
        """Group talk is ours inside a topic that has a pack, or by its title gets one."""
        in_topic = bool(inbound.address.thread_id)
        return inbound.addressed or (
            in_topic and bool(active_pack or self.installed.named(inbound.title))
        )

    def lane_of(self, inbound: Inbound, *, answers_gate: bool) -> str:
        """Everything waits in its conversation's lane, but refusals, `/stop`, answers and reads.

        `answers_gate`: a question to this person is open there.
        """
        lane = inbound.address.lane
        match inbound.content:
            case Intruder():
                return f"!refuse:{lane}"
            case Command(name) | Attached(command=Command(name)) | Album(command=Command(name)) if (
                name in BYPASSING
            ):
                return f"!{lane}"
            case Command("cron", ""):
                return f"!{lane}"
            case Command(name) if answers_gate and name in LEAVING:
                return f"!{lane}"
            case Button(bypasses=True):
                return f"!{lane}"
            case Text() if answers_gate:
                return f"!{lane}"
            case Edited() | Reacted() | DraftStopped() | Standing() | Migrated() | TopicShut():
                return f"!{lane}"
            case _:
                return lane
