"""Takes secrets out of whatever is written down: the configured ones and what looks like one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import cast
from urllib.parse import quote

REDACTED = "[redacted]"
_SHORTEST_SECRET = 6
"""A shorter configured value would blank out ordinary words."""

# One alternation, so that a text is scanned once; what a named group matched is kept.
_SHAPES = re.compile(
    r"""
      (?<![0-9])[0-9]{6,12}:[A-Za-z0-9_-]{30,}                      # Telegram, also after `bot`
    | (?<![A-Za-z0-9])(?:
          sk-[A-Za-z0-9_-]{16,}                                     # OpenAI, DeepSeek, Anthropic
        | gsk_[A-Za-z0-9]{20,}                                      # Groq
        | AIza[A-Za-z0-9_-]{30,}                                    # Google
        | tvly-[A-Za-z0-9_-]{12,}                                   # Tavily
        | gh[pousr]_[A-Za-z0-9]{20,}                                # GitHub
        | github_pat_[A-Za-z0-9_]{20,}
        | glpat-[A-Za-z0-9_-]{16,}                                  # GitLab
        | xox[abeoprs]-[A-Za-z0-9-]{10,}                            # Slack
        | (?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])                     # AWS
        | (?<![_-])eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]*  # JWT
      )
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----(?:.*?-----END\ [A-Z ]*PRIVATE\ KEY-----|.*)
    | (?P<user>\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@]{0,200}:)[^\s/@]+(?=@)
    | (?P<scheme>\b(?:[Bb]earer|BEARER)\s+)[A-Za-z0-9._~+/=-]{8,}
    | (?P<query>[?&](?i:api_?key|key|token|access_token)=)[^&\s"']{8,}
    """,
    re.VERBOSE | re.DOTALL,
)
# A text with none of these holds no shape: cheaper to see than that the pattern does not match.
_HINTS = (
    *("sk-", "gsk_", "AIza", "tvly-", "github_pat_", "glpat-", "xox", "AKIA", "ASIA", "eyJ"),
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    *("PRIVATE KEY", "://", "earer", "EARER", "?", "&"),
)
_TELEGRAM_HINT = re.compile(r"[0-9]{6}:")


class Redactor:
    """Replaces secrets by `[redacted]` in text and in nested values.

    `secrets` are replaced wherever they occur, also as JSON or a URL writes them. One shorter
    than 6 characters is left to the shapes: replacing it would blank out ordinary words.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        written = {
            form
            for secret in secrets
            if len(secret) >= _SHORTEST_SECRET
            for form in (
                secret,
                json.dumps(secret)[1:-1],
                json.dumps(secret, ensure_ascii=False)[1:-1],
                quote(secret, safe=""),
            )
        }
        self._known = sorted(written, key=len, reverse=True)
        self._telltales = (*_HINTS, *self._known)

    def suspects(self, text: str) -> bool:
        """Whether `text` may hold a secret; false is sure, and quick."""
        for telltale in self._telltales:  # a loop: `any()` takes three times as long
            if telltale in text:
                return True
        return _TELEGRAM_HINT.search(text) is not None

    def text(self, text: str) -> str:
        """`text` without secrets; the very same object when nothing is suspected."""
        if not self.suspects(text):
            return text
        for secret in self._known:
            text = text.replace(secret, REDACTED)
        return _SHAPES.sub(_mask, text)

    def value(self, value: object) -> object:
        """`value` with every text in it redacted, keys of mappings included.

        Mappings become dicts, exceptions text; lists, tuples and sets keep their kind. Anything
        else is returned as it came.
        """
        match value:
            case str():
                return self.text(value)
            case dict():
                fields = cast("dict[object, object]", value)
                return {self.value(key): self.value(item) for key, item in fields.items()}
            case list():
                return [self.value(item) for item in cast("list[object]", value)]
            case tuple():
                return tuple([self.value(item) for item in cast("tuple[object, ...]", value)])
            case int() | float() | None:
                return value
            case set() | frozenset():
                return {self.value(item) for item in cast("set[object]", value)}
            case bytes():
                return self.text(value.decode("utf-8", "backslashreplace")).encode()
            case Mapping():
                return self.value(dict(cast("Mapping[object, object]", value)))
            case BaseException():
                return self.text(f"{type(value).__name__}: {value}")
            case _:
                return value


def _mask(match: re.Match[str]) -> str:
    kept = match.lastgroup
    return f"{match[kept]}{REDACTED}" if kept else REDACTED
