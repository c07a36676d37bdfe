"""Rows of a message's work: its job, turn, questions, files and deliveries.

Values that the stores return.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from aouo.facts.address import ConversationAddress, Lane
from aouo.facts.attachments import Kind
from aouo.facts.commands import Carried
from aouo.facts.events import ChatKind, Inbound, Origin, Person, Triggered
from aouo.facts.ports import Rendered

DeliveryKind = Literal["reply", "msg", "live", "notice", "aside", "chosen", "ending", "doubt"]
"""`aside`: no notice follows if it is lost. `chosen`: a message that shows which of its buttons was
tapped. `ending`: the part that stays of an answer that its person stopped."""


DeliveryState = Literal["queued", "sending", "live", "sent", "refused", "unknown", "dropped"]


ScheduleOrigin: TypeAlias = Literal["default", "person", "model"]


Misfire: TypeAlias = Literal["run_once", "skip", "coalesce"]
"""What becomes of missed due times: the newest is run late, none is, or one run that is told of
them all."""


_TITLE_CHARS = 60


RunState: TypeAlias = Literal["waiting", "done", "silent", "failed", "stopped", "missed", "busy"]
"""`waiting`: until its turn has ended. `missed`: nothing ran at that time. `busy`: the run before
was not over."""


Paused: TypeAlias = Literal[
    "", "proposed", "person", "permission", "over", "unlisted", "unreadable"
]


@dataclass(frozen=True, slots=True)
class Job:
    """One claimed job. `claim_number` proves the claim; `deaths` of processes count against it,
    and a `suspect` was at work when one died; `stopped`: its person said /stop to an earlier one.

    The claim read these: `active_pack` of the conversation, whether a question to its person is
    open there (`asked`), whether the conversation is off the record. `carried` is what the job's
    command left to its turn, None = it is no command's, or that has not run yet.
    """

    id: int
    lane: Lane
    inbound: Inbound
    deaths: int
    claim_number: int
    suspect: bool = False
    active_pack: str = ""
    asked: bool = False
    off_record: bool = False
    stopped: bool = False
    carried: Carried | None = None

    @property
    def isolated(self) -> bool:
        """Whether a trigger began it: its turn runs beside the conversation's, in a lane apart."""
        return isinstance(self.inbound.content, Triggered)


@dataclass(frozen=True, slots=True)
class Working:
    """One job at work; `since` is when its turn began, or else when it came in."""

    id: int
    lane: Lane
    inbound: Inbound
    since: str


@dataclass(frozen=True, slots=True)
class Asked:
    """The job of a message: it waits (no flag), it has `begun` and `runs`, or it is `answered`.

    A job that has `begun` and neither runs nor is answered needed no turn.
    """

    job_id: int
    inbound: Inbound
    begun: bool
    runs: bool
    answered: bool


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn that has begun. `resumes` counts how often a new process resumed it."""

    id: str
    session_id: str
    pack: str
    skill: str
    resumes: int
    off_record: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts(OpenTurn):
    """What is fixed when a turn begins, from its claim to its commit.

    `tenant` owns the data: the person in a private chat, else the conversation. `onboarding`: it
    is part of a pack's first conversation. `off_record`: no word of it may be kept, also no log.
    `sources` is whose words, besides the person's own, its session has read.
    """

    session_key: str
    tenant: str
    address: ConversationAddress
    person: Person
    origin: Origin
    chat_kind: ChatKind
    onboarding: bool = False
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Act:
    """The one tool call of a turn that asks no model; an argument named "" is its first. `tour`: it
    is a step of one, its number and the calls before it. `by_key`: its rows are named by their keys
    and not by words; `seal` says which the page showed, "" = it did not say. `replaces` is a call
    of an earlier turn that is put back before."""

    tool: str
    arguments: Mapping[str, object] = field(default_factory=dict[str, object])
    tour: tuple[str, ...] = ()
    by_key: bool = False
    seal: str = ""
    replaces: str = ""
    then: tuple[Act, ...] = ()
    """Calls of the same turn after it, of several wishes in one message."""


@dataclass(frozen=True, slots=True)
class Correction:
    """What a text corrects of the last act: `kind` is a key of `corrections` in `phrases.yml`, or
    change. `value` is what is meant now, `old` what was not, what a price is of, or why; `of`
    is the call that is meant, "" = the last one; `language` is that in which it was heard; `rest`
    is what it says without the words that lead it."""

    kind: str
    value: str = ""
    old: str = ""
    of: str = ""
    language: str = ""
    rest: str = ""


@dataclass(frozen=True, slots=True)
class Gate:
    """One question to one person; `state` is open | answered | expired | closed.

    `origin` is by what the answer came, "" = there is none.
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
    origin: Origin | Literal[""] = ""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One row of the outbox. `edits` is the id of the message that it replaces, 0 = it is a new
    one; an edit with an empty text deletes that message."""

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
    """One downloaded file; `path` is below the media folder.

    `text` is its content in words, once it is `understood`; many kinds have none.
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
    """One stored binding of a conversation; "" where nothing is bound.

    `version` detects concurrent writes from outside the lane. `title` is the topic's, if a
    service message told it. `paused`: the topic is `closed` or `deleted`, "" = neither.
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
    """One schedule. `key` is the id of a pack's default, "" = it is no default.

    `text` is in force from `since`; `own_text`: a person set it, so a new text of the pack does
    not replace it. `paused` is why it is off: only `proposed`, by a `person`, for lack of
    permission, `over` (it was for once), its person is not on the list any more (`unlisted`), or
    no parser takes its text (`unreadable`). `next_due` is "" when it is off or over. A run may
    take `timeout_s` and `tokens_max`, 0 = as any turn, and is tried `retries` times again. Words in
    `say` come as they are, and `act` is an action that is done; "" = a model's turn is run.
    `source` is whose words, besides the person's own, it may repeat. Moments are UTC, as they are
    stored.
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
    name: str = ""
    misfire: Misfire = "run_once"
    timeout_s: int = 0
    tokens_max: int = 0
    retries: int = 0
    say: str = ""
    act: str = ""
    source: str = ""

    @property
    def title(self) -> str:
        """What people call it."""
        skill = self.skill.partition(":")[2]
        named = self.name or self.key.replace("-", " ") or skill.replace("-", " ")
        title = named or self.prompt or self.say or self.act.replace("_", " ")
        return " ".join(title.split())[:_TITLE_CHARS]

    @property
    def lane(self) -> Lane:
        """The lane of its runs."""
        return Lane(f"cron:{self.id}")


@dataclass(frozen=True, slots=True)
class ScheduleRun:
    """One due time of a schedule and what became of it; `missed` due times went before it.

    `retry_at` is when it is tried again, "" = it is not.
    """

    schedule_id: str
    due_at: str
    state: RunState
    job_id: int = 0
    tries: int = 0
    retry_at: str = ""
    missed: int = 0
    why: str = ""
    settled_at: str = ""
