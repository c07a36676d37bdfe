"""Groups the files of an album into messages that Telegram accepts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from aouo.facts.ports import Media, MediaKind

MAX_ITEMS = 10
"""Source, also for which kinds go together: core.telegram.org/bots/api#sendmediagroup."""
_KINDS: dict[str, MediaKind] = {
    **dict.fromkeys((".jpg", ".jpeg", ".png", ".webp"), "photo"),
    **dict.fromkeys((".mp4", ".m4v", ".mov"), "video"),
    **dict.fromkeys((".mp3", ".m4a"), "audio"),
}


def media_of(source: str) -> Media:
    """Return a file of an album, its kind by its ending; an address without one is a picture."""
    is_address = "://" in source
    path = urlsplit(source).path if is_address else source
    ending = PurePosixPath(path).suffix.lower()
    if is_address and not ending:
        return Media("photo", source)
    return Media(_KINDS.get(ending, "document"), source)


def grouped(files: Sequence[Media]) -> list[tuple[Media, ...]]:
    """Return the files in groups of up to ten; each is an album, a group of one is a message.

    Pictures and videos go together, audio and documents only with their own kind; groups are
    in the order of their first files, and a large one is cut into nearly equal ones.
    """
    kinds: dict[str, list[Media]] = {}
    for item in files:
        kinds.setdefault("photo" if item.kind == "video" else item.kind, []).append(item)
    return [group for items in kinds.values() for group in _cut(items)]


def _cut(items: Sequence[Media]) -> list[tuple[Media, ...]]:
    count = -(-len(items) // MAX_ITEMS)
    ends = [len(items) * number // count for number in range(count + 1)]
    return [tuple(items[start:end]) for start, end in pairwise(ends)]
