"""Says what the turns of each origin are like: their session, tools, and where answers go. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from aouo.facts.events import Origin

SessionMode: TypeAlias = Literal["current", "isolated"]
Goes: TypeAlias = Literal["here", "report", "nowhere"]
"""Where an answer goes: into the chat as it grows, into it once the turn is over, or nowhere."""

JOURNAL_TOOLS = ("journal_search", "journal_add")
CONSOLIDATE_TOOLS = ("memory_edits",)
RESERVED = (*JOURNAL_TOOLS, *CONSOLIDATE_TOOLS)
"""Tools that only turns of their origin may call, whatever a pack permits."""
ASKING_TOOLS = ("clarify",)
"""Tools that ask a person."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What turns of one origin are like.

    `attended`: a person sees their questions. `tools` are exactly those that they may call, None =
    those that their pack permits; never those of `without`.
    """

    mode: SessionMode = "current"
    attended: bool = True
    tools: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    goes: Goes = "here"


_PERSON = Profile()
_ALONE = Profile("isolated", attended=False, without=ASKING_TOOLS, goes="report")

PEOPLE: tuple[Origin, ...] = ("chat", "web", "cli")
"""The origins that somebody sat at, and spoke in the conversation itself."""
TRIGGERS: tuple[Origin, ...] = ("cron", "heartbeat", "watch", "journal", "consolidate")
"""The origins that nobody sat at; their lanes begin with their name."""

PROFILES: Mapping[Origin, Profile] = MappingProxyType(
    {
        "chat": _PERSON,
        "web": _PERSON,
        "cli": _PERSON,
        "api": Profile("isolated", attended=False, without=ASKING_TOOLS, goes="nowhere"),
        "command": _ALONE,
        "cron": _ALONE,
        "heartbeat": _ALONE,
        "watch": _ALONE,
        "journal": Profile("isolated", attended=False, tools=JOURNAL_TOOLS, goes="nowhere"),
        "consolidate": Profile("isolated", attended=False, tools=CONSOLIDATE_TOOLS, goes="nowhere"),
    }
)
