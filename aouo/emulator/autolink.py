"""Finds the entities that the server adds to a text itself."""

import re

from aouo.emulator.text import utf16_boundaries

_PATTERNS = (
    (
        "url",
        re.compile(
            r"(?<![\w@.])(?:https?://[^\s<>\"]+[^\s<>\".,;:!?)\]'»”]"
            r"|(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|de|ru|me|info|app)(?:/[^\s<>\"]*[^\s<>\".,;:!?)\]'»”])?(?![\w.-]*@))",
            re.IGNORECASE,
        ),
    ),
    ("email", re.compile(r"(?<![\w.@+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    (
        "bot_command",
        re.compile(r"(?<![\w/<>])/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?(?![\w/<>])"),
    ),
    ("mention", re.compile(r"(?<!\w)@[A-Za-z0-9_]{2,32}(?!\w)")),
    ("hashtag", re.compile(r"(?<![\w#])#(?=\w*[^\W\d])\w{1,256}(?!\w)")),
    ("cashtag", re.compile(r"(?<![\w$])\$[A-Z]{1,8}(?!\w)")),
)


def found_entities(text: str) -> list[tuple[str, int, int]]:
    """Return (kind, offset, length) of every link, command, mention and tag; none overlap."""
    boundaries = utf16_boundaries(text)
    taken: list[tuple[int, int]] = []
    found: list[tuple[str, int, int]] = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < other_end and other_start < end for other_start, other_end in taken):
                continue
            taken.append((start, end))
            found.append((kind, boundaries[start], boundaries[end] - boundaries[start]))
    return sorted(found, key=lambda item: item[1])
