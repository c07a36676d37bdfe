"""Defines the decisions on a fact, as a sealed union."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from aouo.facts.commands import Words
from aouo.facts.events import Noted
from aouo.facts.taps import Tap


@dataclass(frozen=True, slots=True)
class RunTurn:
    """Run a turn with this pack ("" = general mode); `skill` is qualified, "" = the session's.

    `said` are the words, of files their captions; what the files say is read before the turn.
    `again`: answer the words of this person's newest turn in the session, which is taken back.
    `off_record`: these words are not kept, whatever the conversation's mode is. `fresh`: in a
    new session.
    """

    pack: str
    said: str
    skill: str = ""
    again: bool = False
    off_record: bool = False
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class PickPack:
    """Ask for a pack: several are installed and none is chosen, or the chosen one is `gone`."""

    available: tuple[str, ...]
    gone: str = ""


@dataclass(frozen=True, slots=True)
class ObeyCommand:
    """Carry out a command; `rest` is what follows it, `words` are the same, split."""

    name: str
    rest: str
    words: Words = field(default_factory=Words)


@dataclass(frozen=True, slots=True)
class RefuseCommand:
    """Refuse an unknown command, or that of a skill of `pack` while another pack is active, or one
    whose words cannot be split: `why` is the reason."""

    name: str
    pack: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class NameTopic:
    """Remember what a topic is called, and bind it to the pack of that name, "" = there is none."""

    title: str
    pack: str


@dataclass(frozen=True, slots=True)
class AnswerGate:
    """Answer a gate with these words, "" = the person's open question here."""

    text: str
    gate_id: str = ""


@dataclass(frozen=True, slots=True)
class Ignore:
    reason: str


Decision: TypeAlias = (
    RunTurn | PickPack | ObeyCommand | RefuseCommand | NameTopic | AnswerGate | Tap | Ignore | Noted
)
"""What is only noted leads to its handler as it is, and so does a tap on our own buttons."""
