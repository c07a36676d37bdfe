"""Texts and their entities, as the server keeps them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.emulator.entities import formatted, link_target, utf16_length
from aouo.emulator.refusals import Refusal

texts = st.text(st.sampled_from("ab 😀👨‍👩‍👧é\n\r\t"), max_size=20)


def entity(kind: str, offset: int, length: int, **extras: Any) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length, **extras}


@given(text=texts, offset=st.integers(0, 45), length=st.integers(1, 45))
def test_an_entity_is_taken_exactly_if_its_ends_are_characters_of_the_text(
    text: str, offset: int, length: int
) -> None:
    units = text.encode("utf-16-le")
    inside = offset + length <= len(units) // 2
    boundaries = {utf16_length(text[:end]) for end in range(len(text) + 1)}
    whole = inside and offset in boundaries and offset + length in boundaries

    if whole:
        formatted(text, [entity("bold", offset, length)])
    else:
        with pytest.raises(Refusal, match="entity begin"):
            formatted(text, [entity("bold", offset, length)])


@given(text=texts, data=st.data())
def test_cleaning_moves_entities_with_the_characters_they_mark(
    text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    offset = utf16_length(text[:start])
    marked = entity("bold", offset, utf16_length(text[start:end]))

    kept = formatted(text, [marked])

    units = kept.text.encode("utf-16-le")
    shown = [
        units[one.offset * 2 : one.end * 2].decode("utf-16-le")
        for one in kept.entities
        if one.kind == "bold"
    ]
    expected = text[start:end].replace("\r", "").replace("\t", " ")
    assert shown == [] or (shown[0].strip() == expected.strip() and len(shown) == 1)
    assert kept.text == kept.text.strip(" \n")


@given(text=texts)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    once = formatted(text)

    assert formatted(once.text) == once


def test_commands_mentions_tags_and_links_are_found_by_the_server() -> None:
    text = "/note@aouo_try_bot 😀 ask @ben about #tea at https://a.example/b. or x@y.example /go"

    found = formatted(text).entities

    units = text.encode("utf-16-le")
    assert [
        (one.kind, units[one.offset * 2 : one.end * 2].decode("utf-16-le")) for one in found
    ] == [
        ("bot_command", "/note@aouo_try_bot"),
        ("mention", "@ben"),
        ("hashtag", "#tea"),
        ("url", "https://a.example/b"),
        ("email", "x@y.example"),
        ("bot_command", "/go"),
    ]


def test_nothing_is_found_inside_code() -> None:
    kept = formatted("run /start now", [entity("code", 0, 14)])

    assert [one.kind for one in kept.entities] == ["code"]


def test_formatting_inside_code_vanishes_and_the_rest_stays() -> None:
    kept = formatted("abcdef", [entity("pre", 1, 3, language="py"), entity("bold", 2, 1)])

    assert [one.as_json() for one in kept.entities] == [entity("pre", 1, 3, language="py")]


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://a.b", "http://a.b/"),
        ("a.example/x?y=1", "http://a.example/x?y=1"),
        ("http://localhost", None),
        ("javascript:alert(1)", None),
        ("ftp://a.example/", None),
        ("tg://user?id=5", "tg://user?id=5"),
    ],
)
def test_a_link_to_nowhere_vanishes_and_its_text_stays(url: str, target: str | None) -> None:
    """Source: TDLib, tried with a real one (rendering notes)."""
    assert link_target(url) == target

    kept = formatted("here", [entity("text_link", 0, 4, url=url)])

    assert kept.text == "here"
    assert [dict(one.extras).get("url") for one in kept.entities] == ([target] if target else [])


def test_at_most_a_hundred_entities_are_kept() -> None:
    kept = formatted("a" * 200, [entity("bold", at, 1) for at in range(150)])

    assert len(kept.entities) == 100
