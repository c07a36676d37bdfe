"""Who runs the bot, and who may talk to it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound


def data_name(platform: str, whose: str) -> str:
    """Return the name for the data of `whose`, the id of a person or of a group's chat."""
    return re.sub(r"[^A-Za-z0-9-]", "_", f"{platform}_{whose}")


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of the bot: one person on Telegram, and everybody at the terminal.

    `id` is that person's Telegram id, "" = none: then only the terminal is the owner's.
    """

    id: str = ""

    @classmethod
    def of(cls, telegram_id: int) -> Owner:
        """Return the owner with this Telegram id, 0 = none."""
        return cls(str(telegram_id or ""))

    def is_owner(self, inbound: Inbound) -> bool:
        """Whether the owner sent it."""
        return inbound.origin == "cli" or self.id == inbound.person.id != ""

    @property
    def chat(self) -> ConversationAddress | None:
        """The owner's private chat, None without a Telegram id."""
        return ConversationAddress("tg", self.id) if self.id else None

    def chat_apart(self, here: ConversationAddress) -> ConversationAddress | None:
        """The owner's private chat, to ask about something `here`; None = ask here, or nowhere."""
        return None if here.platform == "cli" or here.chat_id == self.id else self.chat

    @property
    def data_name(self) -> str:
        """The name for the owner's data."""
        return data_name("tg", self.id) if self.id else data_name("cli", "owner")


@dataclass(frozen=True, slots=True)
class Admission:
    """The people who may talk to the bot; every update is checked against it first."""

    people: tuple[int, ...] = ()
    all_group_messages: bool = False
    """Whether group messages outside a pack's topic are for the bot without a mention."""

    def lists(self, person: str, owner: str) -> bool:
        """Whether the id `person`, as text, is the owner's or on the list."""
        return bool(person) and (person == owner or person in map(str, self.people))

    def admits(self, person: int | None) -> bool:
        """Whether `person` is on the list; an empty list admits nobody, None is nobody."""
        return person is not None and person in self.people
