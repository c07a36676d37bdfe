"""What the bot remembers: entries of a session, summaries before them, changes of memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from aouo.facts.transcript import Message

NEWEST = 2**63 - 1
"""The highest possible row id: a stretch up to it has no end."""


CauseOrigin = Literal["tool", "summary", "hand", "undo", "consolidate"]
"""A call of the memory tool; facts of a summary; an edit of the file itself; an undo; the
journal."""
Basis = Literal["said", "inferred"]
"""Whether a person said it, or it was concluded from what was said."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One visible entry of a session: its row id, its turn, and the message for the model."""

    id: int
    turn_id: str
    message: Message


@dataclass(frozen=True, slots=True)
class Summary:
    """One stored summary. `facts` are lines for memory, not written there until `flushed`."""

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
    """A summary to be stored; covers a session's messages up to `upto_message_id`.

    Later ones, up to `through_message_id`, move along into a fresh session; 0 = none do.
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
    """The messages of one session whose ids are in (`after`, `until`]."""

    session_id: str
    after: int = 0
    until: int = NEWEST


@dataclass(frozen=True, slots=True)
class Reach:
    """The parts of a session's history: the summary before it, then stretches of messages.

    `newest_id` is the newest summary's id, 0 = there is none; `undone`: a person undid that one,
    to have the messages themselves again.
    """

    summary: Summary | None = None
    stretches: tuple[Stretch, ...] = ()
    newest_id: int = 0
    undone: bool = False


@dataclass(frozen=True, slots=True)
class Past:
    """The newest messages of a session, oldest first, and the reach that they come from.

    `rows` counts the rows they were read from, those of the stretches `sent`; the `left_out` rows
    before those are not sent, and have no summary.
    """

    reach: Reach = field(default_factory=Reach)
    messages: tuple[Message, ...] = ()
    rows: int = 0
    left_out: int = 0
    sent: tuple[Stretch, ...] = ()


@dataclass(frozen=True, slots=True)
class JournalLine:
    """One line of the journal, of a local day; `message_id` is the row of the message behind it."""

    id: int
    day: str
    text: str
    basis: Basis
    message_id: int


@dataclass(frozen=True, slots=True)
class Source:
    """The lines of the journal that a line of MEMORY.md comes from."""

    line: str
    basis: Basis
    journal_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cause:
    """The origin of a change; `message_id` 0 = its message is unknown or gone; `sources` tell of
    each line that came from the journal."""

    origin: CauseOrigin
    turn_id: str = ""
    person: str = ""
    platform: str = ""
    chat_id: str = ""
    message_id: int = 0
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Version:
    """One change of one memory file. `undoes` is the version that it undid, 0 = it is no undo."""

    id: int
    file: str
    before: str
    after: str
    cause: Cause
    at: str
    call_id: str = ""
    undoes: int = 0
