"""A chat with its members, topics and messages."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from aouo.emulator.jsons import JsonObject
from aouo.emulator.messages import Message
from aouo.emulator.people import Membership, Person
from aouo.emulator.refusal import Refusal, bad_request

ChatKind: TypeAlias = Literal["private", "group", "supergroup"]

GENERAL = 1  # the thread id of a forum's General topic; sends must omit it
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
            raise topic_closed()
        return thread_id

    def thread_of(self, thread_id: int | None) -> int | None:
        """Return the topic that an id names; None for no topic and for a forum's General one."""
        if thread_id == GENERAL and self.kind == "supergroup":
            return None
        return thread_id or None

    def in_thread(self, thread_id: int | None) -> Iterator[Message]:
        """Return the messages of a topic in order; None = the chat itself, or its General topic."""
        return (one for one in self.messages.values() if one.thread_id == thread_id)


def topic_closed() -> Refusal:
    """Return the refusal of a send into a closed topic."""
    return bad_request("TOPIC_CLOSED")
