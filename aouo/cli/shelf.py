"""What is installed in a home, as the bot would load it, read from outside."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from aouo.errors import SetupError
from aouo.home import Home
from aouo.packs.library import Library, scan
from aouo.settings import Settings
from aouo.store import installs
from aouo.store.reading import reading


def shelf_of(home: Home, settings: Settings) -> Library:
    """Every pack, also those that do not load, such as one whose files were changed since."""
    return scan(
        home.packs,
        map(Path, settings.packs.scan_dirs),
        settings.packs.enabled,
        home.skills,
        settings.tools.enabled,
        _pinned(home),
    )


def _pinned(home: Home) -> dict[str, str]:
    """Content hashes by pack; a database that cannot be read is for others to complain about."""
    pinned: dict[str, str] = {}
    if home.database.exists():
        with suppress(SetupError), reading(home.database) as tx:
            pinned = {pack: install.digest for pack, install in installs.all_of(tx).items()}
    return pinned
