"""What is remembered: entries of a session, the summaries before them, changes of memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from aouo.facts.transcript import Message

NEWEST = 2**63 - 1
"""An id that no row comes after."""


CauseOrigin = Literal["tool", "summary", "hand", "undo"]
"""A call of the memory tool; facts of a summary; whoever edits the file itself; an undo."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One visible entry of a session: its row's id, its turn, and what the model reads."""

    id: int
    turn_id: str
    message: Message


@dataclass(frozen=True, slots=True)
class Summary:
    """One row. `facts` are lines for memory, waiting while `flushed` is false."""

    id: int
    session_id: str
    source_session_id: str
    upto_message_id: int
    through_message_id: int
    messages: int
    text: str
    tokens: int
    facts: str = ""
    flushed: bool = False
    undone: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """A summary to be written; covers a session's messages up to one.

    `through_message_id`: those after it, up to that one, go along into a fresh session; 0 = none.
    """

    source_session_id: str
    upto_message_id: int
    messages: int
    text: str
    tokens: int
    facts: str = ""
    through_message_id: int = 0


@dataclass(frozen=True, slots=True)
class Stretch:
    """Messages of one session, ids in (`after`, `until`]."""

    session_id: str
    after: int = 0
    until: int = NEWEST


@dataclass(frozen=True, slots=True)
class Reach:
    """What a session's history is made of: the summary that stands before it, then stretches.

    `newest_id` is the newest summary's, 0 = there is none; `undone` says that a person wanted
    the words themselves after that one.
    """

    summary: Summary | None = None
    stretches: tuple[Stretch, ...] = ()
    newest_id: int = 0
    undone: bool = False


@dataclass(frozen=True, slots=True)
class Past:
    """The newest messages of a session, oldest first, and what stands before them.

    They come of so many `rows`; the oldest `left_out` rows have no summary, and do not go along.
    """

    reach: Reach = field(default_factory=Reach)
    messages: tuple[Message, ...] = ()
    rows: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Cause:
    """Where a change came from; `message_id` 0 = no message that is still there."""

    origin: CauseOrigin
    turn_id: str = ""
    person: str = ""
    platform: str = ""
    chat_id: str = ""
    message_id: int = 0


@dataclass(frozen=True, slots=True)
class Version:
    """One change of one file. `undoes` is the version that an undo took back, 0 = it is none."""

    id: int
    file: str
    before: str
    after: str
    cause: Cause
    at: str
    call_id: str = ""
    undoes: int = 0
