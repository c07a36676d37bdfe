"""Decides before the lane whether a fact is ours, and whether it waits or bypasses. Pure."""

from __future__ import annotations

from collections.abc import Iterable

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
    Triggered,
)
from aouo.routing import lexer
from aouo.routing.installed import pack_of

_FILE = "file"
"""Follows a command that came with one: it does not come alone."""


def concerns_us(inbound: Inbound, active_pack: str, packs: Iterable[str]) -> bool:
    """Whether a message is ours: addressed to us, or in a topic with a pack's route or name; not a
    word of other group talk is stored."""
    in_topic = bool(inbound.address.thread_id)
    return inbound.addressed or (in_topic and bool(active_pack or pack_of(inbound.title, packs)))


def lane_of(inbound: Inbound, answers_gate: bool = False) -> Lane:
    """Return the conversation's lane, or its bypass for what must not wait: refusals, `/stop`,
    answers, taps that only read, and facts about messages and chats.
    What a trigger begins has a lane of its own.

    `answers_gate`: a question to this person is open there.
    """
    lane = inbound.address.lane
    match lexer.said(inbound.content):
        case Intruder():
            return lane.refusals
        case Triggered(trigger):
            return Lane(f"{inbound.origin}:{trigger}")
        case Command(name, rest) if _hurries(name, rest, asked=answers_gate):
            return lane.bypass
        case Attached(command=Command(name)) | Album(command=Command(name)) if _hurries(name):
            return lane.bypass
        case Button(bypasses=True):
            return lane.bypass
        case Text(answers=gate_id) if answers_gate or gate_id:
            return lane.bypass
        case Edited() | Reacted() | DraftStopped() | Standing() | Migrated() | TopicShut():
            return lane.bypass
        case _:
            return lane


def _hurries(name: str, rest: str = _FILE, *, asked: bool = False) -> bool:
    """Whether a command bypasses the lane; one with a file is never `asked`."""
    entry = COMMANDS.get(name)
    return entry is not None and entry.bypasses(rest, asked=asked)
