"""Finds packs whose folders changed since the running bot loaded them."""

from __future__ import annotations

from aouo.plumbing.client import NoAnswer, ask
from aouo.plumbing.home import Home

RELOAD = "Run `aouo reload`."


def unread(home: Home) -> dict[str, str]:
    """Return by pack why the running bot's version differs from its folder; {} without a bot."""
    from aouo.words.packs import UNREAD

    try:
        kinds: dict[str, str] = ask(home, "pack_unread").get("unread", {})
    except NoAnswer:  # a bot of another version, or a busy one
        return {}
    return {name: UNREAD.get(kind, kind) for name, kind in kinds.items()}
