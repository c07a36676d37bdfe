"""Texts cut for a voice. The laws hold for any text; issue 12, 8."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.speech.sentences import pieces

TEXTS = st.text(st.sampled_from("ab .!?,\n。é😀"), max_size=400) | st.text(max_size=300)


@given(TEXTS, st.integers(1, 60))
def test_nothing_is_lost_and_every_piece_fits(text: str, limit: int) -> None:
    cut = pieces(text, limit)

    assert "".join(cut) == text
    assert all(0 < len(piece) <= limit for piece in cut)


@given(TEXTS, st.integers(1, 60))
def test_a_word_is_cut_only_where_it_does_not_fit_alone(text: str, limit: int) -> None:
    cut = pieces(text, limit)

    for before, after in pairwise(cut):
        if before[-1].isspace() or after[0].isspace() or before[-1] in "。！？」』”":
            continue
        assert not any(sign.isspace() for sign in before)
        assert len(before) == limit


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("", 10, ()),
        ("Short.", 10, ("Short.",)),
        ("One two. Three four.", 12, ("One two. ", "Three four.")),
        ("Pi is 3.14 today. Yes.", 18, ("Pi is 3.14 today. ", "Yes.")),
        ('He said "no." Then he left.', 20, ('He said "no." ', "Then he left.")),
        ("one two three four", 9, ("one two ", "three ", "four")),
        ("今日は晴れです。明日は雨です。", 10, ("今日は晴れです。", "明日は雨です。")),
        ("a\nb c d e", 4, ("a\n", "b c ", "d e")),
        ("abcdefgh", 3, ("abc", "def", "gh")),
    ],
)
def test_where_a_text_is_cut(text: str, limit: int, expected: tuple[str, ...]) -> None:
    assert pieces(text, limit) == expected
