"""Which words of a message stand in what was made of it. Source: design §3.1.2."""

from __future__ import annotations

import pytest

from aouo.facts.address import ConversationAddress
from aouo.facts.attachments import Attachment
from aouo.facts.events import Album, Attached, Button, Command, Content, Inbound, Part, Person, Text
from aouo.queue import bursts
from aouo.queue.edited import words_of

PICTURE = Attachment("photo", "a", caption="a cat", message_id=7)
OTHER = Attachment("photo", "b", caption="a dog", message_id=8)


def inbound(content: Content, sent_s: int = 0) -> Inbound:
    return Inbound(
        ConversationAddress("tg", "1"), Person("1"), content, message_id=7, sent_s=sent_s
    )


@pytest.mark.parametrize(
    ("content", "message_id", "words"),
    [
        (Text("one"), 7, "one"),
        (Text("one two", parts=(Part(7, "one"), Part(8, "two"))), 8, "two"),
        (Text("one two", parts=(Part(7, "one"), Part(8, "two"))), 9, "one two"),
        (Command("use", "notes", "/use notes"), 7, "/use notes"),
        (Attached(PICTURE), 7, "a cat"),
        (Album("x", (PICTURE, OTHER)), 8, "a dog"),
        (Album("x", (PICTURE, OTHER)), 9, ""),
        (Button("next", "Next", "answer"), 7, ""),
    ],
)
def test_the_words_of_one_message_are_found_in_what_it_became(
    content: Content, message_id: int, words: str
) -> None:
    assert words_of(inbound(content), message_id) == words


@pytest.mark.parametrize(
    ("first_s", "then_s", "one"),
    [(100, 101, True), (100, 102, True), (100, 103, False), (103, 100, False), (0, 103, True)],
)
def test_what_was_written_soon_after_is_one_and_so_is_what_nobody_says_the_time_of(
    first_s: int, then_s: int, one: bool
) -> None:
    first, then = inbound(Text("one"), first_s), inbound(Text("two"), then_s)

    assert bursts.follows(first, then, 1.5) is one
