"""The line that ends what a run sends: in its last message if there is room, else after it."""

from __future__ import annotations

import pytest

from aouo.facts.ports import ButtonSpec, Media, Rendered
from aouo.outbound.answers import with_tail

TAIL = "\n\n— ⏰ plants"
LINE = "— ⏰ plants"
PHOTO = Media("photo", "a.jpg")


@pytest.mark.parametrize(
    ("last", "texts"),
    [
        (Rendered("Water!", buttons=((ButtonSpec("Done", "d"),),)), [f"Water!{TAIL}"]),
        (Rendered("", media=PHOTO), [LINE]),
        (Rendered("", album=(PHOTO, PHOTO)), [LINE]),
        (Rendered("x" * 4090), ["x" * 4090, LINE]),
        (Rendered("x" * 1020, media=PHOTO), ["x" * 1020, LINE]),
        (Rendered("x" * 1020), [f"{'x' * 1020}{TAIL}"]),
    ],
)
def test_the_line_stands_in_the_last_message_or_after_it(last: Rendered, texts: list[str]) -> None:
    first = Rendered("Look:")
    made = with_tail([first, last], TAIL)

    assert made[0] == first
    assert [message.text for message in made[1:]] == texts
    assert (made[1].media, made[1].album, made[1].buttons) == (last.media, last.album, last.buttons)
    assert with_tail([], TAIL) == []
