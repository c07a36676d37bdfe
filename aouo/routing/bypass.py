"""What is decided before the lane: whether a fact is ours, and whether it waits. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from aouo.facts.address import Lane
from aouo.facts.commands import COMMANDS
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


@dataclass(frozen=True, slots=True)
class LanePolicy:
    """What is decided before the lane; see `queue.inbox.Policy`."""

    installed: Installed

    def concerns_us(self, inbound: Inbound, active_pack: str) -> bool:
        """Group talk is ours inside a topic that has a pack, or by its title gets one."""
        in_topic = bool(inbound.address.thread_id)
        return inbound.addressed or (
            in_topic and bool(active_pack or self.installed.named(inbound.title))
        )

    def lane_of(self, inbound: Inbound, *, answers_gate: bool) -> Lane:
        """Everything waits in its conversation's lane, but refusals, `/stop`, answers and reads.

        `answers_gate`: a question to this person is open there.
        """
        lane = inbound.address.lane
        match inbound.content:
            case Intruder():
                return lane.refusals
            case Command(name, rest) if _hurries(name, bare=not rest, asked=answers_gate):
                return lane.bypass
            case Attached(command=Command(name)) | Album(command=Command(name)) if _hurries(name):
                return lane.bypass
            case Button(bypasses=True):
                return lane.bypass
            case Text() if answers_gate:
                return lane.bypass
            case Edited() | Reacted() | DraftStopped() | Standing() | Migrated() | TopicShut():
                return lane.bypass
            case _:
                return lane


def _hurries(name: str, *, bare: bool = False, asked: bool = False) -> bool:
    """Whether a command does not wait; one with a file is not bare, and leaves no question."""
    entry = COMMANDS.get(name)
    return entry is not None and entry.bypasses(bare=bare, asked=asked)
