"""The state of the local Telegram, and that at the start; no I/O and no clock."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from aouo.emulator.chats import ICON_COLORS, Chat, ChatKind, Membership, Message, Person, Topic
from aouo.emulator.description import JsonObject, Upload
from aouo.emulator.refusals import Refusal, bad_request, forbidden

CALLBACK_DEADLINE_S = 15.0  # unpublished; 10-20 s were observed
TYPING_S = 5.0
DRAFT_S = 30.0


@dataclass(frozen=True, slots=True)
class Shown:
    """A chat action or a draft, which vanishes by itself.

    `stops` is the id of the draft that the button below it stops, 0 = there is no button.
    """

    text: str
    until: float
    stops: int = 0


class World:
    """Everything that the Bot API and the people can see and change.

    A method that needs the time takes it as `now`, seconds since the epoch. `local`: it acts as a
    Bot API server in local mode, without limits for downloads.
    """

    def __init__(
        self,
        bot: Person,
        *,
        private_topics: bool = False,
        privacy: bool = True,
        local: bool = False,
    ) -> None:
        self.local = local
        self.bot = bot
        self.private_topics = private_topics
        self.privacy = privacy
        self.people: dict[int, Person] = {bot.id: bot}
        self.chats: dict[int, Chat] = {}
        self.updates = UpdateQueue()
        self.tapped_at: dict[str, float] = {}
        """When each button was tapped, by the id of its callback query."""
        self.tap_answers: dict[str, JsonObject] = {}
        self.files: dict[str, Upload | str] = {}
        self.commands: dict[tuple[str, str], list[JsonObject]] = {}
        self.banner = ""
        """What the page says above the chat."""
        self.gift: Upload | None = None
        """A file that the page offers to send."""
        self.descriptions: dict[tuple[str, str], str] = {}
        """By kind (long, short) and language, "" = all others."""
        self.webhook: JsonObject = {}
        self.typing: dict[tuple[int, int | None], Shown] = {}
        self.drafts: dict[tuple[int, int | None], Shown] = {}
        self.stopped_drafts: set[tuple[int, int | None, int]] = set()
        self.seen: dict[tuple[int, int, int | None], int] = {}
        self.acquainted: set[int] = set()
        self._shared = itertools.count(1)
        self._serial = itertools.count(1)

    def serial(self, prefix: str) -> str:
        """Return a new id."""
        return f"{prefix}{next(self._serial):06d}"

    def person(self, person_id: int) -> Person:
        found = self.people.get(person_id)
        if found is None:
            raise bad_request("user not found")
        return found

    def add_person(self, person: Person, *, started: bool) -> Person:
        """Add a person with a private chat; the bot may write there once the person wrote first."""
        self.people[person.id] = person
        name = " ".join(filter(None, (person.first_name, person.last_name)))
        chat = Chat(person.id, "private", name, self._shared, person=person)
        chat.is_forum = self.private_topics
        chat.members = {person.id: Membership("creator"), self.bot.id: Membership("member")}
        self.chats[person.id] = chat
        if started:
            self.acquainted.add(person.id)
        return person

    def add_chat(
        self, kind: ChatKind, title: str, *, chat_id: int | None = None, is_forum: bool = False
    ) -> Chat:
        """Add a group or supergroup without members."""
        if kind == "group":
            chat_id = chat_id or -2000 - len(self.chats)
            ids = self._shared
        else:
            chat_id = chat_id or -1_000_000_003_000 - len(self.chats)
            ids = itertools.count(2)
        chat = Chat(chat_id, kind, title, ids, is_forum=is_forum)
        self.chats[chat_id] = chat
        return chat

    def chat_of(self, chat_id: object) -> Chat:
        """Return the chat that a call names; `@name` finds public groups only, never people."""
        if isinstance(chat_id, str):
            named = (
                chat
                for chat in self.chats.values()
                if chat.username and f"@{chat.username}".lower() == chat_id.lower()
            )
            found = next(named, None)
        else:
            found = self.chats.get(chat_id) if isinstance(chat_id, int) else None
        if found is None or (found.kind == "private" and not self._is_known(found.id)):
            raise bad_request("chat not found")
        return found

    def chat_for_send(self, chat_id: object) -> Chat:
        """Return a chat, or raise the refusal if the bot may not write there."""
        chat = self.chat_of(chat_id)
        refusal = self._refusal(chat)
        if refusal is not None:
            raise refusal
        return chat

    def message_seen_by_bot(self, chat: Chat, *, addressed: bool) -> bool:
        """Whether the bot gets a message; privacy mode hides those that do not address it."""
        mine = chat.membership(self.bot.id)
        if not mine.present:
            return False
        return chat.kind == "private" or mine.privileged or addressed or not self.privacy

    def bot_status(self, chat: Chat) -> Membership:
        return chat.membership(self.bot.id)

    def groups_of(self, person_id: int) -> Iterator[Chat]:
        return (
            chat
            for chat in self.chats.values()
            if chat.kind != "private" and chat.membership(person_id).present
        )

    def forget_expired(self, now: float) -> None:
        """Drop chat actions and drafts whose time is over."""
        for shown in (self.typing, self.drafts):
            for key in [key for key, value in shown.items() if value.until <= now]:
                del shown[key]

    def still(self, chat: Chat, thread_id: int | None) -> None:
        """End the bot's chat action and draft, since a message of it came."""
        self.typing.pop((chat.id, thread_id), None)
        self.drafts.pop((chat.id, thread_id), None)

    def _is_known(self, person_id: int) -> bool:
        return person_id in self.acquainted or any(
            self.bot_status(chat).present for chat in self.groups_of(person_id)
        )

    def _refusal(self, chat: Chat) -> Refusal | None:
        if chat.migrated_to is not None:
            return bad_request(
                "group chat was upgraded to a supergroup chat", migrate_to_chat_id=chat.migrated_to
            )
        status = self.bot_status(chat).status
        if chat.kind == "private":
            if status == "kicked":
                return forbidden("bot was blocked by the user")
            if chat.id not in self.acquainted:
                return forbidden("bot can't initiate conversation with a user")
            return None
        if status == "kicked":
            return forbidden(f"bot was kicked from the {chat.kind} chat")
        if status == "left":
            return forbidden(f"bot is not a member of the {chat.kind} chat")
        if status == "restricted":
            return bad_request("not enough rights to send text messages to the chat")
        return None


def newest(items: Iterable[int]) -> int:
    """Return the highest id, 0 if there is none."""
    return max(items, default=0)


# Not delivered unless the bot asks for them.
_OPT_IN = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
_FUTURE = 10  # an offset further ahead than this is ignored
_GAP_EVERY = 5  # ids increase but are not contiguous


class UpdateQueue:
    """Updates in order of their ids; what is confirmed is gone for good."""

    def __init__(self) -> None:
        self._next_id = 700_000_001
        self._waiting: deque[JsonObject] = deque()
        self._allowed: frozenset[str] | None = None
        self._pushed = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def allowed(self) -> list[str]:
        """What the bot asked for last; empty means the default."""
        return sorted(self._allowed or ())

    def allow(self, kinds: Sequence[str]) -> None:
        """Filter what arrives from now on; an empty list means the default set."""
        self._allowed = frozenset(kinds) or None

    def push(self, kind: str, content: JsonObject) -> int | None:
        """Queue an update, unless the bot does not want its kind; its id."""
        wanted = kind not in _OPT_IN if self._allowed is None else kind in self._allowed
        if not wanted:
            return None
        update_id = self._next_id
        self._pushed += 1
        self._next_id += 2 if self._pushed % _GAP_EVERY == 0 else 1
        self._waiting.append({"update_id": update_id, kind: content})
        return update_id

    def confirm(self, offset: int) -> list[JsonObject]:
        """Forget every update below `offset` and return them; `-n` keeps the last n."""
        gone: list[JsonObject] = []
        if offset < 0:
            gone += [self._waiting.popleft() for _ in range(max(0, len(self) + offset))]
        elif offset <= self._next_id + _FUTURE:
            while self._waiting and self._waiting[0]["update_id"] < offset:
                gone.append(self._waiting.popleft())
        return gone

    def head(self, limit: int) -> list[JsonObject]:
        """The oldest `limit` updates; they stay until they are confirmed."""
        return [self._waiting[index] for index in range(min(limit, len(self)))]

    def clear(self) -> None:
        self._waiting.clear()


ADA = 1001
BEN = 1002
ANONYMOUS = 1_087_968_824
"""The sender of messages in a group's name, by an anonymous administrator: GroupAnonymousBot."""
FAMILY = -2001
HOUSEHOLD = -1_000_000_003_001
NOTES = 2
VOCAB = 3
TOPICS = ("notes", "vocab")

PARTS = frozenset({"group", "forum", "ben"})


def furnish(
    world: World,
    now: float,
    parts: Collection[str] = PARTS,
    *,
    topics: Sequence[str] = TOPICS,
    language: str = "en",
) -> None:
    """Create Ada, and the other `parts`; `topics` are those of the forum.

    `language` is that of all people.
    """
    world.add_person(Person(ADA, "Ada", username="ada", language_code=language), started=True)
    anonymous = Person(ANONYMOUS, "Group", username="GroupAnonymousBot", is_bot=True)
    world.people[ANONYMOUS] = anonymous
    people = [ADA]
    if "ben" in parts:
        world.add_person(Person(BEN, "Ben", username="ben", language_code=language), started=True)
        people.append(BEN)
    if "group" in parts:
        _join(world, world.add_chat("group", "Family", chat_id=FAMILY), people)
    if "forum" in parts:
        forum = world.add_chat("supergroup", "Household", chat_id=HOUSEHOLD, is_forum=True)
        _join(world, forum, people)
        for index, name in enumerate(topics):
            add_topic(forum, ADA, name, ICON_COLORS[index % len(ICON_COLORS)], int(now))


def add_topic(chat: Chat, creator_id: int, name: str, icon_color: int, now: int) -> Topic:
    """Create a topic with its service message; the caller delivers that."""
    topic = Topic(next(chat.ids), name, icon_color)
    created = {"name": name, "icon_color": icon_color}
    chat.topics[topic.id] = topic
    chat.keep(
        Message(
            id=topic.id,
            chat_id=chat.id,
            sender_id=creator_id,
            date=now,
            thread_id=topic.id,
            service={"forum_topic_created": created},
        )
    )
    return topic


def _join(world: World, chat: Chat, people: list[int]) -> None:
    for person_id in people:
        chat.members[person_id] = Membership("creator" if person_id == ADA else "member")
    chat.members[world.bot.id] = Membership("administrator")
