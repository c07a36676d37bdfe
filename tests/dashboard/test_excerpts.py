"""What the page shows of long texts of others: a part, and no secret or piece of one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aouo.dashboard.excerpts import SHOWN_CHARS, excerpt
from aouo.plumbing.redact import Redactor

SECRET = "correct-horse-battery"


@given(before=st.integers(SHOWN_CHARS - 60, SHOWN_CHARS), after=st.integers(0, 60))
def test_a_secret_at_the_cut_is_not_shown_in_part(before: int, after: int) -> None:
    text = "é" * before + SECRET + "." * after
    shown = excerpt(Redactor([SECRET]), text)

    clean = text.replace(SECRET, "[redacted]")
    assert shown == {
        "text": clean[:SHOWN_CHARS],
        "bytes": len(text.encode()),
        "cut": len(clean) > SHOWN_CHARS,
    }


def test_the_size_of_the_whole_is_told_where_only_its_beginning_was_read() -> None:
    assert excerpt(Redactor(), "beginning", 2_000_000) == {
        "text": "beginning",
        "bytes": 2_000_000,
        "cut": True,
    }
