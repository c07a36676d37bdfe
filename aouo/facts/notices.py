"""Notices about what somebody is asked in the middle of a turn, as facts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Plain(Enum):
    """A notice without details; the value says what happened."""

    WAITS_FOR_OWNER = "this turn waits until the owner has answered in their own chat"
    OWNER_NOT_REACHED = "the owner has no chat with the bot, so that nothing can be asked of them"


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A person's name, and the titles of their group and topic.

    `group` "" = their private chat; `topic` "" = no topic, or its title is unknown.
    """

    person: str
    group: str = ""
    topic: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """The question whether a tool call may be made.

    `subject` is what it would touch, `writes_bytes` -1 = it only looks. `answers` are the words
    that a tap on the gate `gate_id` may send. `waiting` is the person in another chat who waits
    for it, None = the owner, here.
    """

    gate_id: str
    tool: str
    pack: str
    subject: str
    writes_bytes: int
    answers: tuple[str, ...]
    waiting: Elsewhere | None = None


Notice: TypeAlias = Plain | ApprovalAsked
