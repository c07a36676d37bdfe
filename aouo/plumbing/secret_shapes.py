"""Recognises secrets by their shape, in whole texts and in those that still grow.

Characters that are invisible in a shown text, Markdown marks and those without width, hide none.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]
"""(start, end) of a part of a text, as in a Python slice."""
_UNSEEN = (
    r"[*`~\\\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\ufe00-\ufe0f\ufeff]"
)
_HIDING = re.compile(rf"{_UNSEEN}(?<!{_UNSEEN}{_UNSEEN}){_UNSEEN}{{0,63}}+(?!{_UNSEEN})")
"""A run of up to 64 of them counts as hidden, so that little of a growing text is remembered."""

# How each shape of a token begins, the rest of it, and how often that has to be there at least.
_WORD, _SLUG = "[A-Za-z0-9_]", "[A-Za-z0-9_-]"
_TOKENS = (
    ("sk-", _SLUG, 16),  # OpenAI, DeepSeek, Anthropic
    ("gsk_", "[A-Za-z0-9]", 20),  # Groq
    ("AIza", _SLUG, 30),  # Google
    ("tvly-", _SLUG, 12),  # Tavily
    ("gh[pousr]_", "[A-Za-z0-9]", 20),  # GitHub
    ("github_pat_", _WORD, 20),
    ("glpat-", _SLUG, 16),  # GitLab
    ("xox[abeoprs]-", "[A-Za-z0-9-]", 10),  # Slack
)
_KEY_BEGINS = r"-----BEGIN\ [A-Z ]{0,40}PRIVATE\ KEY-----"
_KEY_ENDS = r"-----END\ [A-Z ]{0,40}PRIVATE\ KEY-----"
# The kept part before a password: short, so that little has to be remembered of a growing text.
_BEFORE = {
    "user": r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@]{0,200}:",
    "scheme": r"\b(?:[Bb]earer|BEARER)\s{1,20}",
    "query": r"[?&](?i:api_?key|key|token|access_token)=",
}
_LONGEST_BEFORE, _LONGEST_WITHOUT_ADDRESS = 256, 32
"""More characters than any of these can match, and the one before it."""

# One alternation, so that a text is scanned once; what a named group matched is kept.
_SHAPES = re.compile(
    rf"""
      (?<![0-9])[0-9]{{6,12}}:[A-Za-z0-9_-]{{30,}}                      # Telegram, also after `bot`
    | (?<![A-Za-z0-9])(?:
          {"|".join(f"{lead}{rest}{{{least},}}" for lead, rest, least in _TOKENS)}
        | (?:AKIA|ASIA)[A-Z0-9]{{16}}(?![A-Z0-9])                       # AWS
        | (?<![_-])eyJ[A-Za-z0-9_-]{{8,}}+\.[A-Za-z0-9_-]{{8,}}+\.[A-Za-z0-9_-]*  # JWT
      )
    | {_KEY_BEGINS}(?:.*?{_KEY_ENDS}|.*)
    | (?P<user>{_BEFORE["user"]})[^\s/@]+(?=@)
    | (?P<scheme>{_BEFORE["scheme"]})[A-Za-z0-9._~+/=-]{{8,}}
    | (?P<query>{_BEFORE["query"]})[^&\s"']{{8,}}
    """,
    re.VERBOSE | re.DOTALL,
)
# A text with none of these holds no shape; testing for them is cheaper than the pattern.
_HINTS = (
    *("sk-", "gsk_", "AIza", "tvly-", "github_pat_", "glpat-", "xox", "AKIA", "ASIA", "eyJ"),
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    *("PRIVATE KEY", "://", "earer", "EARER", "="),
)
_TELEGRAM_HINT = re.compile(r":(?<=[0-9]{6}:)")  # colons are rarer than digits


def _begun(lead: str, rest: str) -> str:
    """Return a pattern for each prefix of `lead`, and for all of it with some of the `rest`."""
    for sign in reversed(re.findall(r"\[[^]]*\]|\\?.", lead)):
        rest = f"{sign}(?:{rest})?"
    return rest


# Matches each prefix of a token at the end of a text; its characters are all in `_OF_TOKENS`.
_OF_TOKENS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:"
_OPEN_TOKEN = re.compile(
    rf"""
    (?: (?<![0-9])(?:[0-9]{{1,12}}|[0-9]{{6,12}}:[A-Za-z0-9_-]*+)
      | (?<![A-Za-z0-9])(?:
            {"|".join(_begun(lead, rest + "*+") for lead, rest, _ in _TOKENS)}
          | {_begun("A[KS]IA", "[A-Z0-9]{0,16}")}
          | (?<![_-]){_begun("eyJ", r"[A-Za-z0-9_-]*+(?:[.][A-Za-z0-9_-]*+){0,2}")}
        )
    )\Z
    """,
    re.VERBOSE,
)
_OPEN_KEY = re.compile(
    rf"""
    {_KEY_BEGINS}(?!.*?{_KEY_ENDS})
    | {_begun("-----BEGIN", r"[ ][A-Z ]{0,60}-{0,5}")}\Z
    """,
    re.VERBOSE | re.DOTALL,
)
_OPEN_AFTER = {
    "user": re.compile(rf"{_BEFORE['user']}([^\s/@]*+)\Z"),
    "scheme": re.compile(rf"{_BEFORE['scheme']}([A-Za-z0-9._~+/=-]*+)\Z"),
    "query": re.compile(rf"{_BEFORE['query']}([^&\s\"']*+)\Z"),
}
_FIRST_OF_TOKENS = "0123456789Aegstx"
LOOKED_THROUGH = 1_000
"""The longest run of token characters that is searched for a token; a longer one is held whole."""


def bared(text: str) -> str:
    """Return `text` without the hidden characters in it."""
    return _HIDING.sub("", text)


def in_hiding(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return the `spans` of `bared(text)` as spans of `text`."""
    if not spans:
        return []
    hiding = [match.span() for match in _HIDING.finditer(text)]
    gone = [0, *accumulate(stop - start for start, stop in hiding)]
    places = [start - before for (start, _), before in zip(hiding, gone, strict=False)]

    def at(place: int) -> int:
        return place + gone[bisect_right(places, place)]

    return [(at(start), at(stop - 1) + 1) for start, stop in spans]


def joined(spans: Sequence[Span]) -> list[Span]:
    """Return the spans in order, overlapping ones joined."""
    found: list[Span] = []
    for start, stop in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        else:
            found.append((start, stop))
    return found


def shape_spans(text: str, since: int = 0) -> list[Span]:
    """Return the spans of what looks like a secret, in order, from `since` on.

    A kept part before a secret (such as `Bearer `) is not in its span.
    """
    found = _spans(text, since)
    bare = bared(text)
    if len(bare) == len(text):
        return found
    bare_since = max(len(bared(text[:since])), min(since, 1))
    return joined([*found, *in_hiding(text, _spans(bare, bare_since))])


def _spans(text: str, since: int) -> list[Span]:
    if not hinted(text):
        return []
    return [
        (match.end(match.lastgroup) if match.lastgroup else match.start(), match.end())
        for match in _SHAPES.finditer(text, since)
    ]


def shapes_settled(text: str, since: int) -> int:
    """Return where the first part begins that may become a secret with more text, else the end."""
    sure, bare = _settled(text, since), bared(text)
    if len(bare) == len(text):
        return sure
    bare_sure = _settled(bare, len(bared(text[:since])))
    if bare_sure == len(bare):
        return sure
    ((begins, _),) = in_hiding(text, [(bare_sure, bare_sure + 1)])
    return max(since, min(sure, begins))


def _settled(text: str, since: int) -> int:
    size = len(text)
    run = len(text.rstrip(_OF_TOKENS))
    sure = max(since, run)
    if sure == size or (sure == run and _is_a_word(text, run)):
        sure = size
    elif size - sure <= LOOKED_THROUGH:
        token = _OPEN_TOKEN.search(text, sure)
        sure = token.start() if token else size
    if "-" in text and (key := _OPEN_KEY.search(text, since)):
        sure = min(sure, key.start())
    if "://" in text and (found := _OPEN_AFTER["user"].search(text)):
        sure = min(sure, max(since, found.start(1)))
    if ("earer" in text or "EARER" in text) and (found := _OPEN_AFTER["scheme"].search(text)):
        sure = min(sure, max(since, found.start(1)))
    if "=" in text and (found := _OPEN_AFTER["query"].search(text)):
        sure = min(sure, max(since, found.start(1)))
    return sure


def _is_a_word(text: str, at: int) -> bool:
    """Whether the text ends with a word that begins no token; most texts do, so this is quick."""
    return text[at] not in _FIRST_OF_TOKENS and text[at:].isalpha()


def remembered(text: str) -> int:
    """Return how many characters before new text a shape needs, which begins in `text`."""
    hidden = len(text) - len(bared(text))
    return hidden + (_LONGEST_BEFORE if "://" in text else _LONGEST_WITHOUT_ADDRESS)


def hinted(text: str) -> bool:
    for hint in _HINTS:  # a loop: `any()` takes three times as long
        if hint in text:
            return True
    return ":" in text and _TELEGRAM_HINT.search(text) is not None
