"""A long message of signs, blanks or one word again and again is answered like any other, and so is
whoever writes beside it. Source: issue 44, 12: 4,000 commas held everybody for minutes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from aouo.flow.talking import heard
from aouo.packs.actions import plans, spoken
from aouo.packs.actions.slots import Here
from tests.path.everyday.test_first_days import six_packs
from tests.path.world import World

CHARS = 3_900
LONG = {
    "commas": "remind me" + "," * CHARS,
    "commas and blanks": "remind me" + ", " * (CHARS // 2),
    "blanks": "remind me" + " " * CHARS + "x",
    "lines": "remind me" + "\n" * CHARS + "x",
    "please": "please " * (CHARS // 7) + "x",
    "numbers": "paid " + "3 " * (CHARS // 2),
    "amounts": "paid " + "3 € " * (CHARS // 4),
    "clocks": "8:30 " * (CHARS // 5),
    "days": "remind me to call " + "on monday and " * (CHARS // 14),
    "greetings": "hello, " * (CHARS // 7),
}


async def test_a_long_message_is_answered_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ask` waits for 30 s of the clock: what takes steps in the square of a length is not done by
    then."""
    async with six_packs(world, monkeypatch) as (bot, _, _):
        for kind, said in LONG.items():
            told = await bot.ask(said)
            assert told.text, kind


@pytest.mark.parametrize("end", [",", " ", "\n", "!", "please ", ", please", "x"])
def test_what_reads_the_words_around_a_wish_takes_steps_in_their_length(end: str) -> None:
    """Two million signs: in steps of their square this test would not end in a day."""
    here = Here(datetime(2026, 11, 30, 10, tzinfo=UTC), UTC)
    text = f"remind me{end * (2_000_000 // len(end))}x"

    assert spoken.plain(text) == text
    assert heard(text, here) == ("", "")
    assert plans.plain(text, here) == []


def test_polite_words_at_an_end_are_taken_off_whatever_stands_between_them() -> None:
    polite = "remind me, please,  thanks , when you get a chance ,,, ok!"

    assert spoken.plain(polite) == "remind me"
    assert spoken.plain("remind me, thanks,") == "remind me, thanks,"
    assert spoken.plain("remind me of the pleas") == "remind me of the pleas"
