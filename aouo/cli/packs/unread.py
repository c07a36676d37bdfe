"""What lies in the folders of packs and the running bot has not read yet."""

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
    """Why the running bot has another pack than its folder, by pack; no bot has none."""
    try:
        kinds: dict[str, str] = ask(home, "pack_unread").get("unread", {})
    except (NotRunning, NoAnswer):  # another version cannot say, a busy one not in time
        return {}
    return {name: _WORDS.get(kind, kind) for name, kind in kinds.items()}
