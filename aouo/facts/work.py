"""What a message becomes on its way: a job, a turn, its questions, files and deliveries.

Values without behaviour. Every store of them returns these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from aouo.facts.address import ConversationAddress, Lane
from aouo.facts.attachments import Kind
from aouo.facts.events import ChatKind, Inbound
from aouo.facts.ports import Rendered

DeliveryKind = Literal["reply", "msg", "live", "notice", "aside", "chosen", "ending", "doubt"]
"""`aside`: nobody is told if it is lost. `chosen`: a message that shows which of its buttons was
tapped. `ending`: what stays of an answer that its person stopped."""


DeliveryState = Literal["queued", "sending", "live", "sent", "refused", "unknown", "dropped"]


ScheduleOrigin: TypeAlias = Literal["default", "person", "model"]


Paused: TypeAlias = Literal["", "proposed", "person", "permission"]


@dataclass(frozen=True, slots=True)
class Job:
    """One claimed job. `claim_number` proves the claim; `starts` counts this one too; `stopped`:
    its person said /stop in a former process.

    As its claim found them: the pack its conversation is bound to, whether a question to its
    person is open there, whether the conversation is off the record.
    """

    id: int
    lane: Lane
    inbound: Inbound
    starts: int
    claim_number: int
    active_pack: str = ""
    asked: bool = False
    off_record: bool = False
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """The job that a message is in: it waits, or it has `begun` and `runs`, or its turn is over
    (`answered`), or none of these: it needed no turn."""

    job_id: int
    inbound: Inbound
    begun: bool
    runs: bool
    answered: bool


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn that has begun. `resumes` counts how often a new process took it up."""

    id: str
    session_id: str
    pack: str
    skill: str
    resumes: int
    off_record: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """One question to one person; `state` is open | answered | expired | closed.

    `digest` is what exactly an approval was asked for.
    """

    id: str
    kind: str
    address: ConversationAddress
    person: str
    turn_id: str
    call_id: str
    question: str
    options: tuple[str, ...]
    state: str
    answer: str
    delivery_id: int
    expires_at: str
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One row. `edits` is the message id it replaces, 0 = it is a new message; with an empty text
    it takes that message away."""

    id: int
    address: ConversationAddress
    turn_id: str
    kind: DeliveryKind
    message: Rendered
    state: DeliveryState
    message_id: int
    edits: int
    attempts: int
    error: str


@dataclass(frozen=True, slots=True)
class KeptFile:
    """One file that was downloaded; `path` is below the media folder.

    `text` is what it says, once it is `understood`; many kinds have nothing to say by themselves.
    """

    position: int
    kind: Kind
    path: str
    mime_type: str
    size_bytes: int
    understood: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True)
class Route:
    """One stored binding; "" where nothing is bound. `version` guards writers outside the lane.

    `title` is a topic's, as far as a service message told it. `paused`: it is `closed` or
    `deleted`, "" = neither.
    """

    id: int
    active_pack: str
    active_skill: str
    session_id: str
    gone: str
    version: int
    off_record: bool = False
    title: str = ""
    paused: str = ""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """One row. `key` is a default's id in its pack, "" = it is no pack's.

    `text` was taken at `since`; `own_text`: by a person, so that the pack's does not follow.
    `paused` is why it is off: only `proposed` so far, by a `person`, or for want of permission.
    `next_due` is "" when it is off or over. Moments are UTC, as they are stored.
    """

    id: str
    pack: str
    key: str
    origin: ScheduleOrigin
    address: ConversationAddress
    chat_kind: ChatKind
    person: str
    skill: str
    prompt: str
    text: str
    zone: str
    since: str
    enabled: bool
    paused: Paused
    next_due: str
    own_text: bool = False
    last_due: str = ""
    last_state: str = ""
