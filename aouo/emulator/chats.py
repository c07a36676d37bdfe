"""People, chats with members and topics, and messages, as the emulator stores them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from aouo.emulator.description import JsonObject
from aouo.emulator.entities import Formatted
from aouo.emulator.refusals import bad_request

_Status: TypeAlias = Literal["creator", "administrator", "member", "restricted", "left", "kicked"]

_RIGHTS = [
    *("can_manage_chat", "can_delete_messages", "can_manage_video_chats", "can_restrict_members"),
    *("can_promote_members", "can_change_info", "can_invite_users", "can_post_stories"),
    *("can_edit_stories", "can_delete_stories", "can_pin_messages"),
]
_PERMISSIONS = [
    *("can_send_messages", "can_send_audios", "can_send_documents", "can_send_photos"),
    *("can_send_videos", "can_send_video_notes", "can_send_voice_notes", "can_send_polls"),
    *("can_send_other_messages", "can_add_web_page_previews", "can_react_to_messages"),
    *("can_edit_tag", "can_change_info", "can_invite_users", "can_pin_messages"),
    "can_manage_topics",
]


@dataclass(frozen=True, slots=True)
class Person:
    """A person, or the bot itself."""

    id: int
    first_name: str
    last_name: str = ""
    username: str = ""
    language_code: str = "en"
    is_bot: bool = False

    def as_json(self) -> JsonObject:
        item: JsonObject = {"id": self.id, "is_bot": self.is_bot, "first_name": self.first_name}
        if self.last_name:
            item["last_name"] = self.last_name
        if self.username:
            item["username"] = self.username
        if not self.is_bot:
            item["language_code"] = self.language_code
        return item


@dataclass(frozen=True, slots=True)
class Membership:
    """A person's status in a chat; `manages_topics` counts for administrators only."""

    status: _Status
    manages_topics: bool = True

    @property
    def present(self) -> bool:
        return self.status in ("creator", "administrator", "member", "restricted")

    @property
    def privileged(self) -> bool:
        return self.status in ("creator", "administrator")

    def as_json(self, person: Person) -> JsonObject:
        item: JsonObject = {"status": self.status, "user": person.as_json()}
        match self.status:
            case "creator":
                item["is_anonymous"] = False
            case "administrator":
                item |= {"can_be_edited": False, "is_anonymous": False}
                item |= dict.fromkeys(_RIGHTS, True)
                item["can_manage_topics"] = self.manages_topics
            case "restricted":  # muted
                item |= {"is_member": True, "until_date": 0}
                item |= dict.fromkeys(_PERMISSIONS, False)
            case "kicked":
                item["until_date"] = 0
            case "member" | "left":
                pass
        return item


MediaKind: TypeAlias = Literal[
    "photo", "audio", "voice", "document", "video", "video_note", "animation", "sticker"
]
Keyboard: TypeAlias = tuple[tuple[Mapping[str, Any], ...], ...]


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of a message; `detail` is the JSON of its Audio, Voice, Document or PhotoSize list."""

    kind: MediaKind
    file_id: str
    detail: Any


@dataclass(frozen=True, slots=True)
class Message:
    """One message; `content` is the caption if there is an attachment.

    `service` holds the fields of a service message, `other` those of further kinds.
    """

    id: int
    chat_id: int
    sender_id: int
    date: int
    content: Formatted = field(default_factory=lambda: Formatted(""))
    thread_id: int | None = None
    reply_to: int | None = None
    quote: str = ""
    keyboard: Keyboard = ()
    attachment: Attachment | None = None
    service: Mapping[str, Any] = field(default_factory=dict[str, Any])
    other: Mapping[str, Any] = field(default_factory=dict[str, Any])
    edited_at: int | None = None
    album: str = ""
    reactions: Mapping[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])


ChatKind: TypeAlias = Literal["private", "group", "supergroup"]

_GENERAL = 1  # the thread id of a forum's General topic; sends must omit it
ICON_COLORS = (0x6FB9F0, 0xFFD67E, 0xCB86DB, 0x8EEE98, 0xFF93B2, 0xFB6F5F)


@dataclass(frozen=True, slots=True)
class Topic:
    """A forum topic; its id is the id of the message that created it."""

    id: int
    name: str
    icon_color: int = ICON_COLORS[0]
    icon_custom_emoji_id: str = ""
    closed: bool = False

    def as_json(self) -> JsonObject:
        item: JsonObject = {
            "message_thread_id": self.id,
            "name": self.name,
            "icon_color": self.icon_color,
        }
        if self.icon_custom_emoji_id:
            item["icon_custom_emoji_id"] = self.icon_custom_emoji_id
        return item


@dataclass(slots=True)
class Chat:
    """A conversation; a forum is a supergroup (or a private chat with topics) that has topics.

    `ids` are those of its next messages: private chats and basic groups share them, each supergroup
    has its own.
    """

    id: int
    kind: ChatKind
    title: str
    ids: Iterator[int]
    is_forum: bool = False
    person: Person | None = None
    username: str = ""
    members: dict[int, Membership] = field(default_factory=dict[int, Membership])
    topics: dict[int, Topic] = field(default_factory=dict[int, Topic])
    messages: dict[int, Message] = field(default_factory=dict[int, Message])
    migrated_to: int | None = None

    def as_json(self) -> JsonObject:
        item: JsonObject = {"id": self.id, "type": self.kind}
        if self.person is not None:
            person = self.person.as_json()
            named = ("first_name", "last_name", "username")
            return item | {name: person[name] for name in named if name in person}
        item["title"] = self.title
        if self.username:
            item["username"] = self.username
        if self.is_forum:
            item["is_forum"] = True
        return item

    def membership(self, person_id: int) -> Membership:
        return self.members.get(person_id, Membership("left"))

    def message(self, message_id: int, absent: str) -> Message:
        """Return a message, or raise a 400 with the text `absent`."""
        found = self.messages.get(message_id)
        if found is None:
            raise bad_request(absent)
        return found

    def keep(self, message: Message) -> Message:
        """Store a new or changed message."""
        self.messages[message.id] = message
        return message

    def topic(self, thread_id: int) -> Topic:
        """Return a topic, or raise the 400 of methods that manage topics."""
        found = self.topics.get(thread_id)
        if found is None:
            raise bad_request("message thread not found")
        return found

    def close_topic(self, thread_id: int, *, closed: bool) -> Topic:
        """Close or reopen a topic; twice is an error, as on the real server."""
        topic = self.topic(thread_id)
        if topic.closed == closed:
            raise bad_request("TOPIC_NOT_MODIFIED")
        self.topics[thread_id] = replace(topic, closed=closed)
        return self.topics[thread_id]

    def thread_for_send(self, thread_id: int, *, closed_too: bool = False) -> int | None:
        """Return the topic that a send goes to, None = none.

        Chats without topics ignore the id; a send must not name General. `closed_too`: the sender
        manages topics, and may write into closed ones.
        """
        if not thread_id or (self.kind != "private" and not self.is_forum):
            return None
        topic = self.topics.get(thread_id)
        if topic is None:
            raise bad_request("message thread not found")
        if topic.closed and not closed_too:
            raise bad_request("TOPIC_CLOSED")
        return thread_id

    def thread_of(self, thread_id: int | None) -> int | None:
        """Return the topic that an id names; None for no topic and for a forum's General one."""
        if thread_id == _GENERAL and self.kind == "supergroup":
            return None
        return thread_id or None

    def in_thread(self, thread_id: int | None) -> Iterator[Message]:
        """Return the messages of a topic in order; None = the chat itself, or its General topic."""
        return (one for one in self.messages.values() if one.thread_id == thread_id)
