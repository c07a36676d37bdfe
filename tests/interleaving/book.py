"""What people did, by an account of its own: nothing here asks the runtime what it thinks.

Places know the addresses under which they may be answered; texts know who said them, in which
session they belong, and whether anybody has to answer them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

Duty = Literal["must", "may"]
Address = tuple[int, int | None]


@dataclass(slots=True)
class Place:
    """One conversation. `pack` is the one bound to it as its lane will see it, "" = none."""

    number: int
    chat: int
    thread: int | None
    kind: Literal["private", "topic", "group", "forum"]
    people: tuple[int, ...]
    pack: str = ""
    ever_bound: bool = False
    """Whether it may be bound by now, in a topic: its talk may be ours then."""
    open: bool = True
    deleted: bool = False
    addresses: set[Address] = field(default_factory=set[Address])
    sessions: Counter[str] = field(default_factory=Counter[str])
    waits: list[Text] = field(default_factory=list["Text"])
    """Texts that wait for a pack."""
    stops: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """(number of the event, person)."""
    leaves: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """As `stops`: what begins anew, and so ends a question to its person."""
    retries: int = 0
    asks_again: int = 0
    """Taps on *Answer again*."""
    wheres: int = 0

    def __post_init__(self) -> None:
        self.addresses.add((self.chat, self.thread))

    @property
    def is_private(self) -> bool:
        """A chat of one person, or a topic of it: nobody has to call the bot there."""
        return self.chat > 0

    @property
    def mark(self) -> str:
        return f"p{self.number:02}"

    @property
    def session(self) -> str:
        return f"{self.pack}#{self.sessions[self.pack]}"

    def bind(self, pack: str) -> None:
        """The pack that answers behind what was said so far."""
        self.pack, self.ever_bound = pack, True
        for text in self.waits:
            text.session = self.session
        self.waits.clear()


@dataclass(slots=True)
class Text:
    """Words of a person: `at` is the number of the event, `version` counts edits."""

    place: Place
    number: int
    person: int
    chat: int
    message_id: int
    at: int
    words: str
    duty: Duty
    session: str = ""
    version: int = 0
    taps: bool = False
    """It is a tap on a button of ours, whose data are a mark."""

    @property
    def base(self) -> str:
        return f"{self.place.mark}n{self.number:05}"

    @property
    def mark(self) -> str:
        return f"{self.base}v{self.version}"


@dataclass(slots=True)
class Book:
    """All of it."""

    places: list[Place]
    events: Counter[str] = field(default_factory=Counter[str])
    texts: dict[str, Text] = field(default_factory=dict[str, Text])
    """By base; a tap by its whole mark."""
    quoted: set[str] = field(default_factory=set[str])
    """Bases that were quoted, so that any session may hold them."""
    chosen: set[tuple[str, int, str]] = field(default_factory=set[tuple[str, int, str]])
    """(nonce, person, label) of the options of questions that were tapped."""
    at: int = 0

    def of(self, mark: str) -> Text | None:
        return self.texts.get(mark) or self.texts.get(mark[:9])

    def said(self, text: Text) -> None:
        """File it in its session; without a pack it waits."""
        self.texts[text.mark if text.taps else text.base] = text
        if text.place.pack:
            text.session = text.place.session
        else:
            text.place.waits.append(text)
