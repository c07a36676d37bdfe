"""Who runs the bot, and who may talk to it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound


def data_name(platform: str, whose: str) -> str:
    """The name under which data is kept: of a person by their id, of a group by its chat's."""
    return re.sub(r"[^A-Za-z0-9-]", "_", f"{platform}_{whose}")


@dataclass(frozen=True, slots=True)
class Owner:
    """Who runs the bot: one person on Telegram, and whoever sits at the terminal.

    `id` is that person's, "" = nobody: then there is the terminal only.
    """

    id: str = ""

    @classmethod
    def of(cls, telegram_id: int) -> Owner:
        """0 = nobody."""
        return cls(str(telegram_id or ""))

    def is_owner(self, inbound: Inbound) -> bool:
        """Whether this comes from the owner."""
        return inbound.origin == "cli" or self.id == inbound.person.id != ""

    @property
    def chat(self) -> ConversationAddress | None:
        """Their private chat."""
        return ConversationAddress("tg", self.id) if self.id else None

    def chat_apart(self, here: ConversationAddress) -> ConversationAddress | None:
        """Where the owner is asked about what happens `here`, None = here, or nowhere."""
        return None if here.platform == "cli" or here.chat_id == self.id else self.chat

    @property
    def data_name(self) -> str:
        """The name under which the owner's data is kept."""
        return data_name("tg", self.id) if self.id else data_name("cli", "owner")


@dataclass(frozen=True, slots=True)
class Admission:
    """Who may talk to the bot: the first question asked of anything that comes in."""

    people: tuple[int, ...] = ()
    all_group_messages: bool = False
    """Whether group messages outside a pack's topic are for us without a mention."""

    def admits(self, person: int | None) -> bool:
        """An empty list admits nobody; so does a message without a sender."""
        return person is not None and person in self.people
