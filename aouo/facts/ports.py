"""Protocols of what we do not control: the clock, model services, the chat platform."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:  # before the first poll nothing is imported for a `Clock`
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from aouo.facts.address import ConversationAddress
    from aouo.facts.attachments import Attachment
    from aouo.facts.transcript import AsksAgain, ModelEvent, ModelRequest


class Clock(Protocol):
    """A clock. `now` is aware UTC; `monotonic_s` never goes back; `sleep` waits in seconds."""

    def now(self) -> datetime: ...
    def monotonic_s(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


def stamp(clock: Clock) -> str:
    """Return the present time as it is stored: UTC, ISO 8601, milliseconds."""
    return iso(clock.now())


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")


NO_MODEL = "none"
"""The provider of what stands where no model is connected; it is never asked."""


class ChatModel(Protocol):
    """One model of one provider, perhaps with fallbacks.

    `stream` yields text as it comes and ends with exactly one `Finished`. Closing it early
    (or cancelling) closes the connection. It raises `ProviderError`s only.
    `sees`: it accepts images; `candidates` are all (provider, model) that may answer a request,
    the likeliest first.
    """

    @property
    def provider(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def context_window(self) -> int: ...
    @property
    def sees(self) -> bool: ...
    @property
    def candidates(self) -> tuple[tuple[str, str], ...]: ...
    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]: ...


PayloadType: TypeAlias = Literal[
    "text", "photo", "audio", "voice", "document", "keyboard", "action", "album"
]


@dataclass(frozen=True, slots=True)
class ButtonSpec:
    """One inline button: its label, and the data of a tap on it, of any length.

    `outbound.keyboards` replaces data that is too long for Telegram. `by_model`: a model made
    the button, so it never does what our own buttons do.
    """

    label: str
    data: str
    by_model: bool = False


@dataclass(frozen=True, slots=True)
class Payload:
    """A wish to say something, as the `msg` tool makes it; `text` is Markdown.

    `reply_to` is a message id, a tag given earlier in this turn, or `user`; `tag` names this
    message for later; `album` holds an album's addresses and paths, in order.
    """

    type: PayloadType
    text: str = ""
    url: str = ""
    album: tuple[str, ...] = ()
    buttons: tuple[tuple[ButtonSpec, ...], ...] = ()
    reply_to: str = ""
    tag: str = ""
    action: str = "typing"


@dataclass(frozen=True, slots=True)
class Entity:
    """One stretch of formatting; offset and length in UTF-16 units."""

    type: str
    offset: int
    length: int
    url: str = ""
    language: str = ""


MediaKind: TypeAlias = Literal["photo", "video", "audio", "voice", "document"]


@dataclass(frozen=True, slots=True)
class Media:
    """A file of a message: `source` is an http(s) address or the path of a local file.

    A file that the runtime writes has `text` and a `name` instead, so that it is stored and
    deleted with its row.
    """

    kind: MediaKind
    source: str
    name: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Rendered:
    """The content of one Telegram message: text that needs no parse mode, and its buttons.

    With `media` the text is its caption and may be empty. An `album` is 2 to 10 files that are
    shown as one, without buttons; the text is the caption of the first. `tag` is the turn's name
    for the message, to reply to it later.
    """

    text: str
    entities: tuple[Entity, ...] = ()
    buttons: tuple[tuple[ButtonSpec, ...], ...] = ()
    reply_to: int = 0
    preview: bool = True
    media: Media | None = None
    album: tuple[Media, ...] = ()
    tag: str = ""


Fetch: TypeAlias = "Callable[[Attachment, Path], Awaitable[int]]"
"""Downloads a message's file, whole or not at all; returns its size in bytes. Raises
`FileNotFetched`."""


class Messenger(Protocol):
    """The calls of one platform; each raises `DeliveryError`s only (errors.py explains them)."""

    async def ready(self) -> None:
        """Wait until a call would be sent at once; nothing counts as being sent before that."""
        ...

    async def send(self, to: ConversationAddress, message: Rendered) -> int:
        """Send one message and return its id; for an album that of its first item."""
        ...

    async def edit(self, to: ConversationAddress, message_id: int, message: Rendered) -> None:
        """Replace a message; the same content again is success."""
        ...

    async def draft(self, to: ConversationAddress, draft_id: int, message: Rendered) -> None:
        """Show a text that is still being written, for about 30 seconds; it becomes no message.

        `draft_id` is not 0; a second call with the same one replaces the text.
        """
        ...

    async def delete(self, to: ConversationAddress, message_id: int) -> None:
        """Delete a message of the bot; one that is gone already is success."""
        ...

    async def action(self, to: ConversationAddress, action: str) -> None:
        """Show an activity such as `typing` for about five seconds."""
        ...

    async def answer_tap(self, answer_id: str, text: str, *, alert: bool = False) -> None:
        """Answer a tap on a button; an answer that comes too late is success."""
        ...


@dataclass(frozen=True, slots=True)
class Rights:
    """What the bot may do in a chat.

    `sees_all`: Telegram shows it every message, not only those that mention it.
    """

    admin: bool
    manages_topics: bool
    sees_all: bool
    has_topics: bool


class Topics(Protocol):
    """The calls for topics of a chat; each raises `DeliveryError`s only."""

    async def rights(self, chat: ConversationAddress) -> Rights: ...

    async def create_topic(self, chat: ConversationAddress, title: str) -> str:
        """Create a topic and return its thread id.

        Raises:
            NoTopics, NoRight: the chat has no topics, or the bot lacks the right.
            DeliveryUnknown: no answer came; the topic may have been created.
        """
        ...

    async def topic_exists(self, topic: ConversationAddress, title: str) -> bool:
        """Whether a topic exists, as far as the platform tells; a closed one is opened.

        `title` is its present one, "" = unknown.
        """
        ...


@dataclass(frozen=True, slots=True)
class Sent:
    """The result of a payload: its message id (0: none), and a note for the model or "".

    `unknown`: it is not `ok`, but may have arrived.
    """

    ok: bool
    message_id: int = 0
    note: str = ""
    unknown: bool = False


class TurnView(Protocol):
    """What a turn may show in its conversation."""

    async def show_tool_call(self, name: str, args: str) -> None: ...
    async def show_tool_result(self) -> None: ...
    async def show_asking_again(self, asks: AsksAgain) -> None: ...
    async def streaming_reply(self, delta: str) -> None: ...
    async def start_over(self) -> None: ...
    async def dispatch_message(self, payload: Payload, key: str) -> Sent: ...
