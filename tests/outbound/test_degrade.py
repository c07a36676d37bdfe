"""What becomes of a payload that a platform cannot show. Source: contract, the degrade table."""

from __future__ import annotations

import pytest

from aouo.facts.ports import ButtonSpec, Media, Payload, PayloadType, Rendered
from aouo.outbound.clean import without_secrets
from aouo.outbound.payloads import Capabilities, _grouped, _media_of, degraded
from aouo.plumbing.redact import REDACTED, Redactor
from aouo.words.markdown.tables import Entity

NOTHING: Capabilities = frozenset()
EVERYTHING: Capabilities = frozenset({"photo", "voice", "audio", "document", "album"})
URL = "https://example.org/a"


@pytest.mark.parametrize(
    ("kind", "can", "becomes", "text", "note"),
    [
        ("photo", NOTHING, "text", f"Look\n{URL}", "photo not supported"),
        ("voice", frozenset({"audio"}), "audio", "Look", "voice rendered as audio"),
        ("voice", NOTHING, "text", f"Look\n{URL}", "voice not supported"),
        ("voice", frozenset({"photo"}), "text", f"Look\n{URL}", "voice not supported"),
        ("audio", NOTHING, "text", f"Look\n{URL}", "audio not supported"),
        ("audio", frozenset({"voice"}), "text", f"Look\n{URL}", "audio not supported"),
        ("document", NOTHING, "text", f"Look\n{URL}", "document not supported"),
        ("text", NOTHING, "text", "Look", ""),
        ("keyboard", NOTHING, "keyboard", "Look", ""),
        ("action", NOTHING, "action", "Look", ""),
        ("photo", EVERYTHING, "photo", "Look", ""),
        ("voice", EVERYTHING, "voice", "Look", ""),
        ("audio", EVERYTHING, "audio", "Look", ""),
        ("document", EVERYTHING, "document", "Look", ""),
        ("album", EVERYTHING, "album", "Look", ""),
    ],
)
def test_the_table(
    kind: PayloadType, can: Capabilities, becomes: PayloadType, text: str, note: str
) -> None:
    given = Payload(kind, "Look", URL, tag="t", reply_to="user")

    (shown,), said = degraded(given, can)

    assert (shown.type, shown.text, said) == (becomes, text, note)
    assert shown.url == ("" if note.endswith("supported") else URL)
    assert (shown.tag, shown.reply_to) == ("t", "user")


def test_a_file_of_this_machine_is_not_named_where_nobody_can_open_it() -> None:
    (shown,), _ = degraded(Payload("photo", "Look", "/home/ada/a.png"), NOTHING)
    (alone,), _ = degraded(Payload("photo", "", "/home/ada/a.png"), NOTHING)

    assert shown.text == "Look"
    assert alone.text == "(something this chat cannot show)"


def test_an_album_is_shown_item_by_item_where_there_are_none() -> None:
    buttons = ((ButtonSpec("A", "a"),),)
    items = (f"{URL}.jpg", f"{URL}.pdf", f"{URL}.mp3")
    album = Payload("album", "Look", album=items, buttons=buttons, reply_to="user")

    shown, note = degraded(album, frozenset({"photo", "document"}))

    assert [(item.type, item.text) for item in shown] == [
        ("photo", "Look"),
        ("document", ""),
        ("text", items[2]),
    ]
    assert [bool(item.buttons) for item in shown] == [False, False, True]
    assert note == "album not supported; audio not supported"


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("/a/b.JPG", "photo"),
        ("/a/b.png", "photo"),
        ("/a/b.mp4", "video"),
        ("/a/b.m4a", "audio"),
        ("/a/b.gif", "document"),
        ("/a/b", "document"),
        ("https://e.org/photo", "photo"),
        ("https://e.org", "photo"),
        ("https://e.org/a.webp?size=3.pdf", "photo"),
        ("https://e.org/a.pdf", "document"),
    ],
)
def test_a_files_kind_is_told_by_its_ending(source: str, kind: str) -> None:
    assert _media_of(source).kind == kind


@pytest.mark.parametrize("count", range(1, 32))
def test_groups_are_albums_that_telegram_takes_and_lose_nothing(count: int) -> None:
    """2 to 10 items; a group of one is sent as a message."""
    files = [Media("photo", str(number)) for number in range(count)]

    groups = _grouped(files)

    assert [item for group in groups for item in group] == files
    assert all(2 <= len(group) <= 10 for group in groups) or count == 1
    assert len(groups) == -(-count // 10)


# The last look at what leaves: the marks of a message keep to their words. Source: issue 9


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
