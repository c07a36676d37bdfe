"""Makes the world at the start: two people, their private chats, a group and a forum."""

from collections.abc import Collection, Sequence

from aouo.emulator.chats import ICON_COLORS, Chat, Topic
from aouo.emulator.messages import Message
from aouo.emulator.people import Membership, Person
from aouo.emulator.world import World

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
