"""The other sides that we do not run or cannot wait for, each as one narrow protocol."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from aouo.facts.address import ConversationAddress
from aouo.facts.attachments import Attachment
from aouo.facts.transcript import AsksAgain, ModelEvent, ModelRequest


class Clock(Protocol):
    """Time. `now` is aware UTC; `monotonic_s` only ever grows; `sleep` waits that many seconds."""

    def now(self) -> datetime: ...
    def monotonic_s(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


def stamp(clock: Clock) -> str:
    """Now, as it is stored: UTC, ISO 8601, milliseconds."""
    return iso(clock.now())


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")


class ChatModel(Protocol):
    """One model of one provider, perhaps with others that step in for it.

    `stream` yields text as it comes and ends with exactly one `Finished`. Closing it early
    (or cancelling) closes the connection. Raises `ProviderError`s only.
    `brief` asks for the short form of the prompt (a model that reads slowly); `sees` says that
    images may be sent along; `candidates` are all (provider, model) that may answer a request,
    the likeliest first.
    """

    @property
    def provider(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def context_window(self) -> int: ...
    @property
    def brief(self) -> bool: ...
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
    """One inline button: what it shows, and what a tap on it means, of any length.

    What Telegram is given instead of a long one is `outbound.keyboards`' business. `by_model`:
    a model made it, so that it never does what our own buttons do.
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

    A file that we write ourselves has `text` and a `name` instead, so that it lives and goes
    with its row.
    """

    kind: MediaKind
    source: str
    name: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Rendered:
    """What one Telegram message holds: text that needs no parse mode, and its buttons.

    With `media` the text is its caption and may be empty. An `album` are 2 to 10 files that are
    shown as one, without buttons; the text is the caption of the first. `tag` is what its turn
    calls the message, to reply to it.
    """

    text: str
    entities: tuple[Entity, ...] = ()
    buttons: tuple[tuple[ButtonSpec, ...], ...] = ()
    reply_to: int = 0
    preview: bool = True
    media: Media | None = None
    album: tuple[Media, ...] = ()
    tag: str = ""


class Files(Protocol):
    """Where the files of messages come from."""

    async def fetch(self, item: Attachment, to: Path) -> int:
        """Put a file at `to`, whole or not at all; return its size in bytes.

        Raises:
            FileNotFetched: it is too big, gone, or not to be had (errors.py).
        """
        ...


class Messenger(Protocol):
    """One platform's calls. Each raises `DeliveryError`s only (errors.py says which means what)."""

    async def ready(self) -> None:
        """Wait until a call would leave at once; before that nothing counts as being sent."""
        ...

    async def send(self, to: ConversationAddress, message: Rendered) -> int:
        """Send one message and return its id; an album's is that of its first item."""
        ...

    async def edit(self, to: ConversationAddress, message_id: int, message: Rendered) -> None:
        """Replace a message; the same content again is success."""
        ...

    async def draft(self, to: ConversationAddress, draft_id: int, message: Rendered) -> None:
        """Show a text that is still being written, for about 30 seconds; no message comes of it.

        `draft_id` is not 0; a second call with the same one replaces the text.
        """
        ...

    async def delete(self, to: ConversationAddress, message_id: int) -> None:
        """Take a message of ours away; one that is gone already is success."""
        ...

    async def action(self, to: ConversationAddress, action: str) -> None:
        """Show an activity such as `typing` for about five seconds."""
        ...

    async def answer_tap(self, answer_id: str, text: str, *, alert: bool = False) -> None:
        """Answer a tap on a button; too late is success."""
        ...


@dataclass(frozen=True, slots=True)
class Rights:
    """What the bot is in a chat: an administrator, one who may manage topics, shown every message
    (not only those that call it), in a chat that has topics."""

    admin: bool
    manages_topics: bool
    sees_all: bool
    has_topics: bool


class Topics(Protocol):
    """The topics of chats that have them. Each call raises `DeliveryError`s only."""

    async def rights(self, chat: ConversationAddress) -> Rights: ...

    async def create_topic(self, chat: ConversationAddress, title: str) -> str:
        """Create a topic and return its thread id.

        Raises:
            NoTopics, NoRight: it cannot be done here.
            DeliveryUnknown: no answer came; it may be there.
        """
        ...

    async def topic_exists(self, topic: ConversationAddress, title: str) -> bool:
        """Whether a topic is there, as far as the platform tells; one that is closed is opened.

        `title` is its present one, "" = unknown.
        """
        ...


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of a payload: its message id (0: none), and a note for the model or "".

    `unknown`: it is not `ok`, and may have arrived all the same.
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
