"""Facts that come in and events of running turns: two sealed unions of frozen values.

An `Inbound` is a fact that came in and becomes a job; its `content` is one case of the first
union. An `Event` is what a running turn, or the outbox, tells its subscribers.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias, get_args

from aouo.facts.address import ConversationAddress
from aouo.facts.attachments import Attachment
from aouo.facts.taps import Tap, decode

ChatKind: TypeAlias = Literal["private", "group", "forum"]
AsChat: TypeAlias = Literal["", "group", "channel"]
Origin: TypeAlias = Literal[
    "chat", "web", "cli", "command", "api", "cron", "heartbeat", "watch", "journal", "consolidate"
]
"""What started something: people in chats, on the page or at a terminal, a command of theirs that
runs apart, a program that waits for the answer, or a trigger."""


@dataclass(frozen=True, slots=True)
class Part:
    """One message of several that were joined; the fields are those of `Text`."""

    message_id: int
    text: str
    about: tuple[str, ...] = ()
    theirs: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """What a person wrote; `about` holds one bracketed line for each thing it refers to.

    `parts` are the messages it was joined from; empty when it was one. `answers` is the id of the
    gate that these words answer and are for nothing else, "" = they are not bound to one.
    `theirs` says whose words they are when their sender only passed them on, "" = the sender's.
    """

    text: str
    about: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    answers: str = ""
    theirs: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """A line that begins with a slash, split by the lexer; `raw` is the whole text."""

    name: str
    rest: str
    raw: str


@dataclass(frozen=True, slots=True)
class Button:
    """A tap on one of the bot's buttons; `answer_id` is the id to answer the tap by.

    `by_model`: a model made the button. `pack` drew the message, if that matters, "" = unknown.
    """

    data: str
    label: str
    answer_id: str
    by_model: bool = False
    pack: str = ""

    @property
    def tap(self) -> Tap:
        """The meaning of its data, also where a model made the button."""
        return decode(self.data)

    @property
    def speaks(self) -> bool:
        """Whether its data is passed on as the words of a turn: it names a skill, or is nothing of
        ours. A button that a model made may choose a pack or open a page, and nothing else."""
        name = self.tap.name
        return name == "text" or (self.by_model and name not in ("pack", "page"))

    @property
    def bypasses(self) -> bool:
        """Whether it is done at once, also while a turn runs; never a button of a model."""
        return self.tap.bypasses and not self.by_model


@dataclass(frozen=True, slots=True)
class Attached:
    """A message that is one file; `command` is the one that its caption begins with."""

    item: Attachment
    about: tuple[str, ...] = ()
    command: Command | None = None

    @property
    def items(self) -> tuple[Attachment, ...]:
        return (self.item,)


@dataclass(frozen=True, slots=True)
class Album:
    """Files that their sender sent as one album; the platform delivers them one by one.

    `late`: the rest of an album whose first files are in an earlier job. `parts` are messages
    that were sent together with the files and hold none.
    """

    id: str
    items: tuple[Attachment, ...]
    about: tuple[str, ...] = ()
    command: Command | None = None
    late: bool = False
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """A message without words or a file, as one bracketed line: a place, a sticker."""

    line: str
    about: tuple[str, ...] = ()
    theirs: str = ""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A kind of message that this runtime does not support; `what` names it for the person."""

    what: str


@dataclass(frozen=True, slots=True)
class Illegible:
    """A stored inbound that cannot be read any more."""


@dataclass(frozen=True, slots=True)
class TopicNamed:
    """A topic was created or renamed."""

    title: str


@dataclass(frozen=True, slots=True)
class TopicShut:
    """A topic was closed, or opened again (not `closed`)."""

    closed: bool


@dataclass(frozen=True, slots=True)
class Migrated:
    """A group became a supergroup with a new id."""

    new_chat_id: str


@dataclass(frozen=True, slots=True)
class Edited:
    """The new words of an earlier message; `text`, `about` and `theirs` are those of `Text`.

    `item` is its present file, None = it has none.
    """

    text: str
    about: tuple[str, ...] = ()
    item: Attachment | None = None
    theirs: str = ""


@dataclass(frozen=True, slots=True)
class Reacted:
    """A person's reaction to a message has changed to `emoji`, "" = it was removed."""

    emoji: str


@dataclass(frozen=True, slots=True)
class DraftStopped:
    """A person pressed *Stop* below an answer that was shown as a draft (`ids.draft_id`)."""

    draft_id: int


@dataclass(frozen=True, slots=True)
class Standing:
    """The bot's standing in the chat changed: `gone` is why nothing can be sent there, "" = it can.

    `muted`: the bot is there, but may not write.
    """

    gone: str
    muted: bool = False


@dataclass(frozen=True, slots=True)
class Intruder:
    """A message of a person who is not on the list; nothing of what they sent is kept.

    `asked_id`: it was `/id` or `/start`, which tell strangers their id. `as_chat`: it was sent in
    the name of the group, by an anonymous administrator, or of a channel.
    """

    asked_id: bool = False
    as_chat: AsChat = ""


@dataclass(frozen=True, slots=True)
class Triggered:
    """What a trigger asks a turn to do: `prompt`, for a pack and a qualified skill ("" = none).

    `trigger` is its id, with `due_at` (UTC, ISO 8601) the id of this run; `name` is for people.
    `about` holds bracketed lines on the run itself. `timeout_s` and `tokens_max` bound it, 0 = as
    any turn. `session` is the id of the session to make for it, "" = any. `asked_for`: a person
    wants it now, so that they are told at once how it ended. `act`: an action of the pack that is
    done, "" = a model is asked.
    """

    trigger: str
    name: str
    prompt: str
    pack: str = ""
    skill: str = ""
    due_at: str = ""
    about: tuple[str, ...] = ()
    timeout_s: int = 0
    tokens_max: int = 0
    session: str = ""
    asked_for: bool = False
    act: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What a triggered turn brings into the conversation, in the lane of its own.

    `text` "" = only what it sent by `msg`. `failed`: `text` says why there is no result. `sent`: it
    is in the chat already, and only history lacks it. `asked_for`: a person waits for it. `due_at`:
    it is a reminder that was due then, and comes as it is, with what can be done about it. `source`
    is whose words, besides the person's own, it may repeat.
    """

    turn_id: str
    name: str
    prompt: str
    text: str
    pack: str = ""
    trigger: str = ""
    failed: bool = False
    sent: bool = False
    asked_for: bool = False
    due_at: str = ""
    source: str = ""

    @property
    def wordless(self) -> Report:
        """What its job keeps once it is settled."""
        return replace(self, prompt="", text="")


Noted: TypeAlias = (
    Intruder
    | Migrated
    | TopicShut
    | Edited
    | Reacted
    | DraftStopped
    | Standing
    | Unsupported
    | Illegible
    | Report
)
"""Facts about which nothing is decided: each has its one handler."""
Content: TypeAlias = (
    Text | Command | Button | Attached | Album | Shown | TopicNamed | Triggered | Noted
)


@dataclass(frozen=True, slots=True)
class Person:
    """The sender: the id as text, a name to show, an IETF language tag or ""."""

    id: str
    name: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class Inbound:
    """One fact that came in.

    `message_id` is the platform's id of the message it came with (0: none). `addressed` is false
    for group messages that are not meant for the bot, outside a pack's topic. `title` is the
    topic's title where the message tells it, else ""; `group` the group's. `sent_s` is the time
    of writing in whole seconds since 1970, 0 where the platform does not say.
    """

    address: ConversationAddress
    person: Person
    content: Content
    chat_kind: ChatKind = "private"
    message_id: int = 0
    addressed: bool = True
    title: str = ""
    origin: Origin = "chat"
    sent_s: int = 0
    group: str = ""

    def dump(self) -> str:
        """Return it as one JSON text; `load` is the inverse."""
        body = asdict(self)
        body["content"]["kind"] = type(self.content).__name__
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def load(cls, text: str) -> Inbound:
        """Read a text of `dump`, also of another version: unknown fields are dropped."""
        body: dict[str, Any] = json.loads(text)
        simple = _known(cls, body)
        simple["address"] = ConversationAddress(**body["address"])
        simple["person"] = Person(**body["person"])
        simple["content"] = _content(body["content"])
        return cls(**simple)


def _content(body: dict[str, Any]) -> Content:
    """Build a content from its JSON object, field by field; lists become tuples."""
    kind = _KINDS[body["kind"]]
    simple = _known(kind, body)
    if "about" in simple:
        simple["about"] = tuple(simple["about"])
    if simple.get("command"):
        simple["command"] = Command(**_known(Command, simple["command"]))
    if simple.get("item"):
        simple["item"] = Attachment(**_known(Attachment, simple["item"]))
    if "parts" in simple:
        simple["parts"] = tuple(_part(one) for one in simple["parts"])
    if "items" in simple:
        simple["items"] = tuple(Attachment(**_known(Attachment, one)) for one in simple["items"])
    return kind(**simple)


def _part(item: dict[str, Any]) -> Part:
    return Part(item["message_id"], item["text"], tuple(item["about"]), item.get("theirs", ""))


def _known(kind: type[Any], body: dict[str, Any]) -> dict[str, Any]:
    names = {item.name for item in fields(kind)}
    return {key: value for key, value in body.items() if key in names}


_KINDS: dict[str, type[Content]] = {kind.__name__: kind for kind in get_args(Content)}


@dataclass(frozen=True, slots=True)
class Arrival:
    """One update: its id, its raw text, and the fact in it.

    `inbound` is None when there is nothing to do; `why` then gives the reason for the log.
    `unreadable`: the update could not be read, and `inbound`, if any, only makes us say so to its
    sender. `keep_raw` is false when the sender is not admitted. `refused_tap` is the `answer_id`
    of a tap by `refused_person`, who is not on the list; `lost_tap` of a tap without a message.
    """

    update_id: int
    raw: str
    inbound: Inbound | None
    why: str = ""
    keep_raw: bool = True
    unreadable: bool = False
    refused_tap: str = ""
    refused_person: str = ""
    lost_tap: str = ""


@dataclass(frozen=True, slots=True)
class TurnStarted:
    turn_id: str
    session_id: str
    job_id: int


@dataclass(frozen=True, slots=True)
class Hints:
    """What is known of an inbound besides its words; "" and 0 where there is nothing.

    `force_sync`: nothing of the answer is shown before it is whole. Source: seed, "Classification".
    """

    builtin_command: str = ""
    slash_command: str = ""
    slash_args: str = ""
    message_id: int = 0
    force_sync: bool = False


@dataclass(frozen=True, slots=True)
class StreamBegin:
    """The chat is about to see a turn's words as they come."""

    turn_id: str
    session_id: str
    hints: Hints


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """No more words of the turn come, however it ends; `error` is "" for an answer.

    Else it is the class of the error, or why the turn was stopped (a `StopReason`, in lower case);
    the log says more.
    """

    turn_id: str
    session_id: str
    error: str


@dataclass(frozen=True, slots=True)
class StreamFailed:
    """A turn whose words the chat saw has failed; one that was stopped has not. The person is
    told what happened. `error` is the class of the error."""

    turn_id: str
    session_id: str
    channel: str
    chat_id: str
    error: str


@dataclass(frozen=True, slots=True)
class LlmToken:
    turn_id: str
    session_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ActionStarted:
    turn_id: str
    session_id: str
    call_id: str
    tool: str


@dataclass(frozen=True, slots=True)
class ShieldVerdict:
    turn_id: str
    session_id: str
    call_id: str
    allowed: bool
    reason: str
    tier: int = 0


@dataclass(frozen=True, slots=True)
class ActionCompleted:
    turn_id: str
    session_id: str
    call_id: str
    tool: str
    success: bool


@dataclass(frozen=True, slots=True)
class Thought:
    """One step on the way to an answer; stored with the assistant's message."""

    stage: Literal["reasoning", "tool_call"]
    summary: str
    detail: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ResponseComplete:
    turn_id: str
    session_id: str
    text: str
    thoughts: tuple[Thought, ...]


@dataclass(frozen=True, slots=True)
class TurnSettled:
    """A turn has ended: `status` is ack | nack | aborted."""

    turn_id: str
    session_id: str
    status: str


@dataclass(frozen=True, slots=True)
class TurnCompleted:
    """A turn was answered, and that is committed; the words of the person, and the answer as the
    history has it.

    Only of sessions that a conversation goes on in, and never off the record: whoever subscribes
    to it may keep what it says.
    """

    user_msg: str
    assistant_msg: str
    session_id: str
    channel: str
    chat_id: str
    at: str


@dataclass(frozen=True, slots=True)
class DeliveryFailed:
    """A message was refused, or nobody knows whether it arrived (`error`: refused | unknown).

    `turn_id` and `session_id` are "" where no turn said it. Why it was refused is in its row.
    """

    delivery_id: int
    turn_id: str
    session_id: str
    channel: str
    chat_id: str
    error: str


@dataclass(frozen=True, slots=True)
class EventsMissed:
    """The subscriber was too slow: so many events that should stand here were dropped."""

    session_id: str
    count: int


@dataclass(frozen=True, slots=True)
class MemoryFlush:
    """Facts of older messages went to memory before a summary replaced the messages."""

    session_id: str
    facts: tuple[str, ...]


Event: TypeAlias = (
    TurnStarted
    | StreamBegin
    | StreamEnd
    | StreamFailed
    | LlmToken
    | ActionStarted
    | ShieldVerdict
    | ActionCompleted
    | ResponseComplete
    | TurnCompleted
    | TurnSettled
    | DeliveryFailed
    | EventsMissed
    | MemoryFlush
)


def told(event: Event) -> dict[str, Any]:
    """Return an event's fields for other processes, with its `kind`, for example `llm_token`."""
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(event).__name__).lower()
    return {"kind": kind, **asdict(event)}
