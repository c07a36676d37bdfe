"""What becomes of a payload that a platform cannot show. Source: contract, the degrade table."""

from __future__ import annotations

import pytest

from aouo.facts.ports import ButtonSpec, Media, Payload, PayloadType
from aouo.outbound.albums import grouped, media_of
from aouo.outbound.degrade import Capabilities, degraded

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
    assert media_of(source).kind == kind


@pytest.mark.parametrize("count", range(1, 32))
def test_groups_are_albums_that_telegram_takes_and_lose_nothing(count: int) -> None:
    """2 to 10 items; a group of one is sent as a message."""
    files = [Media("photo", str(number)) for number in range(count)]

    groups = grouped(files)

    assert [item for group in groups for item in group] == files
    assert all(2 <= len(group) <= 10 for group in groups) or count == 1
    assert len(groups) == -(-count // 10)
