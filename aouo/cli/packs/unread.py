"""Finds packs whose folders changed since the running bot loaded them."""

from __future__ import annotations

from aouo.plumbing.client import NoAnswer, NotRunning, ask
from aouo.plumbing.home import Home

_WORDS = {
    "new": "in the folder, not loaded yet",
    "changed": "changed in the folder; the bot goes on with what it read before",
    "gone": "not in the folder any more; the bot goes on with it",
    "broken": "does not load any more; the bot goes on with what it read before",
}
RELOAD = "Run `aouo reload`."


def unread(home: Home) -> dict[str, str]:
    """Return by pack why the running bot's version differs from its folder; {} without a bot."""
    try:
        kinds: dict[str, str] = ask(home, "pack_unread").get("unread", {})
    except (NotRunning, NoAnswer):  # a bot of another version, or a busy one
        return {}
    return {name: _WORDS.get(kind, kind) for name, kind in kinds.items()}
