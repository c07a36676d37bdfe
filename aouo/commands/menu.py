"""Builds the chat's command menu, built-in ones first, cut to what Telegram accepts. Pure.

Source: core.telegram.org/bots/api#setmycommands, and reference, "Outbound" (the whole body).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aouo.facts.commands import offered
from aouo.packs.library import Library

MAX_COMMANDS = 100
MAX_DESCRIPTION_CHARS = 256
MAX_BODY_BYTES = 7_800
_SHORTEST_CHARS = 3


@dataclass(frozen=True, slots=True)
class Menu:
    """The menu's (name, description) in order; `taken` are skills' names that another command has,
    `left_out` names for which there was no room."""

    entries: tuple[tuple[str, str], ...]
    taken: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def menu(ours: Sequence[tuple[str, str]], skills: Mapping[str, str]) -> Menu:
    """Make the menu of our and the skills' commands: name → description.

    If it is too long, all descriptions are cut to the same length.
    """
    names = {name for name, _ in ours}
    taken = tuple(name for name in skills if name in names)
    wanted = [*ours, *((name, text) for name, text in skills.items() if name not in names)]
    lines = [(name, " ".join(text.split()) or name) for name, text in wanted]
    kept = lines[:MAX_COMMANDS]
    while _body_bytes(_cut(kept, _SHORTEST_CHARS)) > MAX_BODY_BYTES:
        kept.pop()
    left_out = tuple(name for name, _ in lines[len(kept) :])
    return Menu(tuple(_cut(kept, _longest(kept))), taken, left_out)


def menu_of(
    library: Library, added: Mapping[str, str], *, platform: str = "tg", pack: str = ""
) -> Menu:
    """The menu of a platform with what the owner `added` (name → description, "" = not listed) and
    the skills of a pack, "" = of all that are installed; in English, since it is the same for
    everybody."""
    skills = {
        name: _about(library, qualified)
        for name, qualified in library.commands(pack).items()
        if pack in ("", qualified.partition(":")[0])
    }
    ours = [(entry.name, entry.line) for entry in offered(platform)]
    ours += [(name, line) for name, line in added.items() if line]
    return menu(ours, skills)


def _about(library: Library, qualified: str) -> str:
    """What a skill does."""
    name, _, skill = qualified.partition(":")
    pack = library.get(name)
    said = library.resolve_skill(name, skill).description
    return pack.said("en", said) if pack else said


def _longest(kept: Sequence[tuple[str, str]]) -> int:
    """The most characters that every description may have."""
    low, high = _SHORTEST_CHARS, MAX_DESCRIPTION_CHARS
    while low < high:
        middle = (low + high + 1) // 2
        fits = _body_bytes(_cut(kept, middle)) <= MAX_BODY_BYTES
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _cut(lines: Sequence[tuple[str, str]], limit: int) -> list[tuple[str, str]]:
    return [
        (name, text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…")
        for name, text in lines
    ]


def _body_bytes(lines: Sequence[tuple[str, str]]) -> int:
    """As python-telegram-bot writes it: ASCII, other characters escaped."""
    return len(json.dumps([{"command": name, "description": text} for name, text in lines]))
