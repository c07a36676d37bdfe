"""Measures and cleans text as Telegram does: UTF-16 units, control characters, links."""

import re
from urllib.parse import urlsplit

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):")
_BLANK = " \n"


def utf16_length(text: str) -> int:
    """Return the number of UTF-16 code units, Telegram's unit of offsets."""
    return len(text) + sum(1 for character in text if ord(character) > 0xFFFF)


def utf16_boundaries(text: str) -> list[int]:
    """Return the UTF-16 offset of every character and of the end; others split a surrogate pair."""
    offsets = [0]
    for character in text:
        offsets.append(offsets[-1] + (2 if ord(character) > 0xFFFF else 1))
    return offsets


def clean(text: str) -> str:
    """Drop `\\r` and turn other control characters into spaces, as the server stores texts."""
    return "".join(
        " " if ord(character) < 32 and character != "\n" else character
        for character in text
        if character != "\r"
    )


def outer_blanks(text: str) -> tuple[int, int]:
    """Return how many blank characters lead and trail; they never reach a chat."""
    leading = len(text) - len(text.lstrip(_BLANK))
    trailing = len(text) - len(text.rstrip(_BLANK))
    return leading, trailing


def link_target(url: str) -> str | None:
    """Return the address that a `text_link` opens, or None if the server drops it silently.

    `tg://user?id=` mentions are not links and are left as they are.
    """
    address = url.strip()
    scheme = _SCHEME.match(address)
    if scheme is None or "://" not in address:
        address = f"http://{address}"
    parts = urlsplit(address)
    if parts.scheme.lower() in ("tg", "ton", "tonsite"):
        return address
    if parts.scheme.lower() not in ("http", "https") or " " in address:
        return None
    if "." not in parts.netloc.strip("."):
        return None
    return address if parts.path or parts.query or parts.fragment else f"{address}/"
