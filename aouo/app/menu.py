"""The menu of commands beside the input field, as what is installed makes it."""

from __future__ import annotations

import structlog

from aouo.commands.menu import menu
from aouo.facts.commands import COMMANDS
from aouo.packs.library import Library
from aouo.telegram.channel import TelegramChannel

log = structlog.get_logger()


async def show_menu(telegram: TelegramChannel, library: Library) -> None:
    """Tell Telegram; what has no place in the menu is logged."""
    skills = {name: _about(library, qualified) for name, qualified in library.commands().items()}
    found = menu([(entry.name, entry.line) for entry in COMMANDS.values()], skills)
    for name in found.taken:
        log.warning("command_collision", command=name, skill=library.commands()[name])
    if found.left_out:
        log.warning("command_menu_full", left_out=list(found.left_out))
    await telegram.set_menu(found.entries)


def _about(library: Library, qualified: str) -> str:
    """What a skill does, in English: the menu is the same for everybody."""
    name, _, skill = qualified.partition(":")
    pack = library.get(name)
    said = library.resolve_skill(name, skill).description
    return pack.translations.text("en", said) if pack else said
