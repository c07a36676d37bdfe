"""Says who runs the bot, who may talk to it, and what the turns of each origin are like."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias

from aouo.facts.address import GENERAL, ConversationAddress
from aouo.facts.events import Inbound, Origin, Person

AT_HOME = "owner"
"""The id of whoever sits at this machine, where the owner has none on Telegram."""


def data_name(platform: str, whose: str) -> str:
    """Return the name for the data of `whose`, the id of a person or of a group's chat."""
    return re.sub(r"[^A-Za-z0-9-]", "_", f"{platform}_{whose}")


def data_of(platform: str, person: str) -> str:
    """Return the name for a person's data; at the page it is the owner's, as it is elsewhere."""
    if platform == "web":
        platform = "cli" if person == AT_HOME else "tg"
    return data_name(platform, person)


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of the bot: one person on Telegram, and everybody at the terminal or the page.

    `id` is that person's Telegram id, "" = none: then only the terminal and the page are theirs.
    """

    id: str = ""

    @classmethod
    def of(cls, telegram_id: int) -> Owner:
        """Return the owner with this Telegram id, 0 = none."""
        return cls(str(telegram_id or ""))

    def is_owner(self, inbound: Inbound) -> bool:
        """Whether the owner sent it."""
        return inbound.origin in ("cli", "web") or self.id == inbound.person.id != ""

    def has(self, person: str) -> bool:
        """Whether this is the owner's id, on Telegram or at home."""
        return person in (self.id, AT_HOME)

    @property
    def person(self) -> Person:
        """The owner as whoever sits at the page."""
        return Person(self.id or AT_HOME, "owner")

    @property
    def chat(self) -> ConversationAddress | None:
        """The owner's private chat, None without a Telegram id."""
        return ConversationAddress("tg", self.id) if self.id else None

    def told_in(self, *, telegram: bool) -> ConversationAddress | None:
        """Where they are told what nobody asked for: in their private chat, if the bot is on
        `telegram`, else on the page; None = nowhere."""
        return self.chat if telegram else ConversationAddress("web", GENERAL)

    def chat_apart(self, here: ConversationAddress) -> ConversationAddress | None:
        """The owner's private chat, to ask about something `here`; None = ask here, or nowhere."""
        at_home = here.platform in ("cli", "web")
        return None if at_home or here.chat_id == self.id else self.chat

    @property
    def data_name(self) -> str:
        """The name for the owner's data."""
        return data_of("web", self.id or AT_HOME)


Role: TypeAlias = Literal["member", "guest", "out", "no", "asked"]
"""What the owner decided about a person: put them out, or said no when they asked; `asked`: nothing
yet."""


@dataclass(frozen=True, slots=True)
class LetIn:
    """What is kept of a person beside the list in the settings: their id, the name they had when
    they asked, the owner's decision, and since when, as stored; a guest's day ends at `until`."""

    person: str
    name: str
    role: Role
    at: str
    until: str = ""


@dataclass(frozen=True, slots=True)
class Admission:
    """The people who may talk to the bot; every update is checked against it first.

    A decision among `decided`, by the person's id, wins over the list `people`. `now` is the time
    as it is stored.
    """

    people: tuple[int, ...] = ()
    all_group_messages: bool = False
    """Whether group messages outside a pack's topic are for the bot without a mention."""
    decided: Mapping[str, LetIn] = field(default_factory=dict[str, LetIn])
    now: Callable[[], str] = lambda: ""

    def role(self, person: str) -> Literal["member", "guest", ""]:
        """What the person with this id is here, "" = nobody whom the bot talks to."""
        listed = "member" if person in map(str, self.people) else ""
        match self.decided.get(person):
            case LetIn(role="member"):
                return "member"
            case LetIn(role="guest", until=until):
                return "guest" if self.now() < until else ""
            case LetIn(role="out"):
                return ""
            case _:
                return listed

    def lists(self, person: str, owner: str) -> bool:
        """Whether the id `person`, as text, is the owner's or of somebody who is let in."""
        return bool(person) and (person == owner or bool(self.role(person)))

    def admits(self, person: int | None) -> bool:
        """Whether the bot talks to `person`; an empty list admits nobody, None is nobody."""
        return person is not None and bool(self.role(str(person)))

    def everybody(self, owner: str) -> set[str]:
        """Return the ids of all who are let in, and the owner's."""
        known = {*map(str, self.people), *self.decided}
        return {*filter(None, (owner,)), *filter(self.role, known)}


SessionMode: TypeAlias = Literal["current", "isolated"]
Goes: TypeAlias = Literal["here", "report", "nowhere"]
"""Where an answer goes: into the chat as it grows, into it once the turn is over, or nowhere."""

JOURNAL_TOOLS = ("journal_search", "journal_add")
CONSOLIDATE_TOOLS = ("memory_edits",)
RESERVED = (*JOURNAL_TOOLS, *CONSOLIDATE_TOOLS)
"""Tools that only turns of their origin may call, whatever a pack permits."""
_ASKING_TOOLS = ("clarify",)
"""Tools that ask a person."""


@dataclass(frozen=True, slots=True)
class _Profile:
    """What turns of one origin are like.

    `attended`: a person sees their questions. `tools` are exactly those that they may call, None =
    those that their pack permits; never those of `without`.
    """

    mode: SessionMode = "current"
    attended: bool = True
    tools: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    goes: Goes = "here"


_PERSON = _Profile()
_ALONE = _Profile("isolated", attended=False, without=_ASKING_TOOLS, goes="report")

PEOPLE: tuple[Origin, ...] = ("chat", "web", "cli")
"""The origins that somebody sat at, and spoke in the conversation itself."""
TRIGGERS: tuple[Origin, ...] = ("cron", "heartbeat", "watch", "journal", "consolidate")
"""The origins that nobody sat at; their lanes begin with their name."""

PROFILES: Mapping[Origin, _Profile] = MappingProxyType(
    {
        "chat": _PERSON,
        "web": _PERSON,
        "cli": _PERSON,
        "api": _Profile("isolated", attended=False, without=_ASKING_TOOLS, goes="nowhere"),
        "command": _ALONE,
        "cron": _ALONE,
        "heartbeat": _ALONE,
        "watch": _ALONE,
        "journal": _Profile("isolated", attended=False, tools=JOURNAL_TOOLS, goes="nowhere"),
        "consolidate": _Profile(
            "isolated", attended=False, tools=CONSOLIDATE_TOOLS, goes="nowhere"
        ),
    }
)
