"""The last look at what leaves: the marks of a message keep to their words. Source: issue 9."""

from __future__ import annotations

import pytest

from aouo.facts.ports import Rendered
from aouo.markdown.entities import Entity
from aouo.outbound.clean import without_secrets
from aouo.plumbing.redact import REDACTED, Redactor

SECRET = "correct-horse-battery-staple"
OTHER = "wrong-donkey-charger-paperclip"


def marked(text: str, *words: str) -> Rendered:
    """A message with these words in bold; offsets count UTF-16 code units."""

    def units(part: str) -> int:
        return len(part.encode("utf-16-le")) // 2

    marks = [Entity("bold", units(text[: text.index(word)]), units(word)) for word in words]
    return Rendered(text, tuple(marks))


@pytest.mark.parametrize(
    ("text", "words", "clean", "kept"),
    [
        ("one {s} two", ["one"], "one {r} two", ["one"]),
        ("one {s} two", ["two"], "one {r} two", ["two"]),
        ("😀 {s} 😀 two", ["two"], "😀 {r} 😀 two", ["two"]),
        ("one {s} two {o} three", ["two", "three"], "one {r} two {r} three", ["two", "three"]),
        ("one {s} two", ["one {s} two"], "one {r} two", ["one {r} two"]),
        ("one {s} two", ["{s}"], "one {r} two", ["{r}"]),
        ("one {s} two", ["{s} two"], "one {r} two", ["{r} two"]),
        ("one {s} two", ["horse"], "one {r} two", []),
        ("one {s} two", ["one correct"], "one {r} two", ["one "]),
        ("one {s} two", ["staple two"], "one {r} two", [" two"]),
    ],
)
def test_where_a_secret_is_taken_out_the_marks_stay_with_their_words(
    text: str, words: list[str], clean: str, kept: list[str]
) -> None:
    def said(part: str) -> str:
        return part.format(s=SECRET, o=OTHER, r=REDACTED)

    message = marked(said(text), *(said(word) for word in words))
    found = without_secrets(message, Redactor([SECRET, OTHER]))

    assert found == marked(said(clean), *(said(word) for word in kept))
