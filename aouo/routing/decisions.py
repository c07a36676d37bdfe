"""What can be done with a fact: a sealed union."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from aouo.facts.events import AsChat, Standing
from aouo.facts.taps import Ours


@dataclass(frozen=True, slots=True)
class RunTurn:
    """Run a turn with this pack ("" = general mode); `skill` is qualified, "" = the session's.

    Of files, `said` are the words under them; what the files say is found out before the turn.
    `again`: with the words of this person's newest turn in the session, which is taken back.
    `off_record`: these words are not kept, whatever the conversation's mode is. `fresh`: in a
    session of its own.
    """

    pack: str
    said: str
    skill: str = ""
    again: bool = False
    off_record: bool = False
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class PickPack:
    """Several packs and none chosen, or the chosen one (`gone`) is not loaded: ask."""

    available: tuple[str, ...]
    gone: str = ""


@dataclass(frozen=True, slots=True)
class ObeyCommand:
    name: str
    rest: str


@dataclass(frozen=True, slots=True)
class RefuseCommand:
    """A command nobody knows; or a skill of `pack`, while another pack is active here."""

    name: str
    pack: str = ""


@dataclass(frozen=True, slots=True)
class NameTopic:
    """Remember what a topic is called, and bind it to the pack of that name, "" = there is none."""

    title: str
    pack: str


@dataclass(frozen=True, slots=True)
class ShutTopic:
    """Remember that a topic was closed; or, not `closed`, opened again."""

    closed: bool


@dataclass(frozen=True, slots=True)
class AnswerGate:
    """Words that answer an open question."""

    text: str


@dataclass(frozen=True, slots=True)
class ObeyTap:
    """Do what one of our own buttons says."""

    tap: Ours


@dataclass(frozen=True, slots=True)
class Refuse:
    """Somebody who is not on the list; `as_chat` as in `Intruder`."""

    tell_id: bool
    as_chat: AsChat = ""


@dataclass(frozen=True, slots=True)
class MoveChat:
    new_chat_id: str


@dataclass(frozen=True, slots=True)
class ApplyEdit:
    """Other words for a message that came before."""


@dataclass(frozen=True, slots=True)
class NoteReaction:
    """Somebody put something on a message, or took it away."""


@dataclass(frozen=True, slots=True)
class StopDraft:
    """As `/stop`, for the answer that was growing as this draft."""

    draft_id: int


@dataclass(frozen=True, slots=True)
class NoteStanding:
    """We were blocked, put out or muted in this chat, or are back."""

    standing: Standing


@dataclass(frozen=True, slots=True)
class Explain:
    """Tell the person that this kind of message cannot be taken in."""

    what: str


@dataclass(frozen=True, slots=True)
class PutAside:
    """What came cannot be read."""


@dataclass(frozen=True, slots=True)
class Ignore:
    reason: str


Decision: TypeAlias = (
    RunTurn
    | PickPack
    | ObeyCommand
    | RefuseCommand
    | NameTopic
    | ShutTopic
    | AnswerGate
    | ObeyTap
    | Refuse
    | MoveChat
    | ApplyEdit
    | NoteReaction
    | StopDraft
    | NoteStanding
    | Explain
    | PutAside
    | Ignore
)
