"""What a message costs that is no phrase, counted in calls of functions. Source: issue 43."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import FrameType

import pytest

from aouo.packs.actions import tokens
from aouo.packs.actions.phrases import Phrases
from aouo.packs.actions.slots import Here
from aouo.packs.load import load_pack

ROOT = Path(__file__).parents[3] / "packs"
SIX = ("remind", "expenses", "feeds", "vocab", "notes", "create")
HERE = Here(datetime(2026, 11, 28, 10, tzinfo=UTC), UTC)
NONE = [
    "what a lovely day we had at the lake yesterday, and the weather held until five",
    "Could you explain how the immune system remembers a virus that it has seen before?",
    "ich habe gestern lange mit meiner Schwester telefoniert und wir haben viel gelacht",
    "The invoice of 12.50 € and the one of 13.40 € from March were both sent on the 3rd of April",
    "In 1998 there were 12 of them, in 2004 only 7, and in 2010 somebody counted 31 or 32",
    "schreib mir bitte eine freundliche Absage für die Einladung am Freitag um 18 Uhr",
    " ".join(["paid 3 € and saw 4 birds"] * 40),
]


@cache
def phrases(packs: int) -> Phrases:
    """Those of the six packs, and of as many more with the same and with words of their own."""
    loaded = [pack for name in SIX if (pack := load_pack(ROOT / name).pack)]
    six = [phrase for pack in loaded for phrase in pack.phrases]
    more = [
        replace(phrase, pack=f"{phrase.pack}{number}", pattern=pattern)
        for number in range(packs // len(SIX) - 1)
        for phrase in six
        for pattern in (phrase.pattern, f"word{number}of{phrase.pack} {phrase.pattern}")
    ]
    return Phrases([*six, *more])


def steps(work: Callable[[], object]) -> int:
    """How many functions are called meanwhile."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("packs", [6, 204])
@pytest.mark.parametrize("text", NONE)
def test_a_message_that_is_no_phrase_takes_a_few_steps_for_each_word(text: str, packs: int) -> None:
    of_all = phrases(packs)
    names = frozenset(phrase.pack for phrase in of_all.phrases)
    assert of_all.match(text, HERE, names) == []  # and what is compiled once is compiled
    words = len(tokens.tokens(text))

    assert steps(lambda: of_all.match(text, HERE, names)) < 4_000 + 120 * words  # four languages
