"""Makes what the page shows of a text that may be long and may hold secrets. Pure."""

from __future__ import annotations

from aouo.plumbing.redact import Redactor
from aouo.plumbing.verbs import Facts

SHOWN_CHARS = 4_000
MARGIN_CHARS = 10_000
"""What is read beyond the end, for a secret that stands at the cut."""


def beginning(redactor: Redactor, text: str, chars: int) -> str:
    """Return the first characters of a text without secrets."""
    return redactor.text(text[: chars + MARGIN_CHARS])[:chars]


def excerpt(redactor: Redactor, text: str, size_bytes: int | None = None) -> Facts:
    """Return the beginning of a text without secrets, the bytes of the whole, and whether it is
    `cut`; with `size_bytes` the text is the beginning of a longer one."""
    given = len(text.encode("utf-8", "surrogatepass"))
    whole = given if size_bytes is None else size_bytes
    clean = redactor.text(text[: SHOWN_CHARS + MARGIN_CHARS])
    return {
        "text": clean[:SHOWN_CHARS],
        "bytes": whole,
        "cut": len(clean) > SHOWN_CHARS or whole > given,
    }
