"""A random town: people, their private chats and topics, groups, forums with packs to topics."""

from __future__ import annotations

import random

from aouo.emulator.chats import ICON_COLORS, Chat, Membership
from aouo.emulator.chats import Person as Dweller
from aouo.emulator.methods import bot
from aouo.emulator.methods.bot import delete_topic, rename_topic, set_topic_closed
from aouo.emulator.world import add_topic
from tests.fakes.telegram.verbs import upgrade
from tests.interleaving.book import Book, Place
from tests.interleaving.telegram import Telegram

PEOPLE = (1001, 1002, 1003, 1004, 1005, 1006)
STRANGER = 1666
PACKS = ("notes", "vocab")


class Town:
    """Builds it, and changes what is not said: topics, and groups that become supergroups."""

    def __init__(self, telegram: Telegram, chance: random.Random) -> None:
        self.telegram = telegram
        self.world = telegram.world
        self.chance = chance
        self.book = Book([])
        for person in (*PEOPLE, STRANGER):
            self.world.add_person(Dweller(person, f"P{person}"), started=True)
        for person in PEOPLE:
            self._place(person, None, "private", (person,))
        self._groups()
        self._forums()
        if telegram.private_topics:
            for person in PEOPLE[:2]:
                for name in ("notes", "chat"):
                    self.found(self.world.chats[person], name)

    def _groups(self) -> None:
        for number in range(3):
            kind = "supergroup" if number == 2 else "group"
            self._join(chat := self.world.add_chat(kind, f"Group {number}"))
            self._place(chat.id, None, "group", self._people(chat))

    def _forums(self) -> None:
        for number in range(2):
            chat = self.world.add_chat("supergroup", f"Forum {number}", is_forum=True)
            self._join(chat)
            self._place(chat.id, None, "forum", self._people(chat))
            for name in ("notes", "vocab", "misc"):
                self.found(chat, name)

    def found(self, chat: Chat, name: str) -> None:
        """A new topic; a title that is a pack's name binds it."""
        people = self._people(chat) if chat.kind != "private" else (chat.id,)
        color = ICON_COLORS[len(chat.topics) % len(ICON_COLORS)]
        topic = add_topic(chat, people[0], name, color, int(self.telegram.now_s))
        bot.tell_topic_created(self.world, chat, topic.id)
        place = self._place(chat.id, topic.id, "topic", people)
        if name in PACKS:
            place.bind(name)

    def rename(self, place: Place, name: str) -> None:
        chat, thread = self.world.chats[place.chat], place.thread or 0
        if chat.topics[thread].name != name:
            rename_topic(self.world, chat, place.people[0], thread, name, self.telegram.now_s)
            if name in PACKS:
                place.bind(name)

    def close(self, place: Place, *, closed: bool) -> None:
        """What is owed to a closed topic goes to the chat around it."""
        chat = self.world.chats[place.chat]
        who, thread = place.people[0], place.thread or 0
        set_topic_closed(self.world, chat, who, thread, self.telegram.now_s, closed=closed)
        place.open = not closed
        place.addresses.add((place.chat, None))

    def delete(self, place: Place) -> None:
        chat = self.world.chats[place.chat]
        for message in chat.in_thread(place.thread):
            self.telegram.take_away(chat.id, message.id)
        delete_topic(chat, place.thread or 0)
        place.open, place.deleted = False, True
        place.addresses.add((place.chat, None))

    def upgrade(self, place: Place) -> None:
        """A basic group becomes a supergroup, with another id."""
        new = upgrade(self.world, self.telegram.now_s, user=place.people[0], chat=place.chat)
        place.chat = new.id
        place.addresses.add((new.id, None))

    def may_be_upgraded(self, place: Place) -> bool:
        return place.kind == "group" and self.world.chats[place.chat].kind == "group"

    def _place(self, chat: int, thread: int | None, kind: str, people: tuple[int, ...]) -> Place:
        place = Place(len(self.book.places), chat, thread, kind, people)  # pyright: ignore[reportArgumentType]
        self.book.places.append(place)
        return place

    def _join(self, chat: Chat) -> None:
        people = self.chance.sample(PEOPLE, self.chance.randrange(2, 5))
        for person in (*people, STRANGER):
            chat.members[person] = Membership("member")
        chat.members[self.world.bot.id] = Membership("administrator")

    def _people(self, chat: Chat) -> tuple[int, ...]:
        return tuple(person for person in chat.members if person in PEOPLE)
