"""Which values of a call lead somewhere, and whether somebody named them.

Source: issue 31 "What a call does", "The flow rule".
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.guard.targets import (
    MOST,
    Target,
    addresses,
    as_link,
    flat,
    has_day,
    has_number,
    normal,
    rule_of,
    stands_in,
    values_of,
)

WORD = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=10)
ADDRESS = st.builds("{}@{}.example".format, WORD, WORD)
NESTED = st.recursive(
    ADDRESS,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(WORD, inner, min_size=1, max_size=3)
    ),
    max_leaves=8,
)


def leaves(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set[str]().union(*map(leaves, value.values()))
    if isinstance(value, list):
        return set[str]().union(*map(leaves, value))
    return {value}


@given(st.dictionaries(WORD, NESTED, min_size=1, max_size=4))
def test_every_address_is_found_however_nested_and_also_in_json_in_a_text(
    payload: dict[str, Any],
) -> None:
    wanted = leaves(payload)

    assert {one.shown for one in values_of(payload).places.values()} == wanted
    assert {one.shown for one in values_of({"x": json.dumps(payload)}).places.values()} == wanted


@given(ADDRESS, WORD, WORD)
def test_an_address_stands_in_a_text_whole_and_not_as_a_part_of_another_one(
    address: str, before: str, after: str
) -> None:
    assert stands_in(address, normal(f"Write to {address.upper()}, please."))
    assert not stands_in(address, normal(f"Write to {before}.{address}"))
    assert not stands_in(address, normal(f"Write to {address}.{after}"))
    assert not stands_in(f"{before}.{address}", normal(f"Write to {address}"))


@given(st.text(max_size=200), st.text(max_size=40))
def test_no_text_breaks_the_search(words: str, place: str) -> None:
    stands_in(place, normal(words))
    list(addresses(words))
    assert rule_of(place) == rule_of(place)
    flat({"a": words})


@pytest.mark.parametrize(
    ("place", "said", "stands"),
    [
        ("Bob", "tell bob that I am late", True),
        ("bob@home.example", "tell bob that I am late", False),
        ("https://www.home.example/", "look at home.example", True),
        ("home.example/a?b=c", "look at home.example/a", False),
        ("home.example", "look at home.example/a", False),
        ("www.informations.com", "the article at www.informations.com to all", True),
        ("DE89 3704 0044 0532 0130 00", "pay DE89370400440532013000 please", True),
        ("DE89370400440532013000", "pay DE89 3704 0044 0532 0130 00", True),
        ("370400440532", "pay DE89370400440532013000", False),
        ("report.pdf", "send Report.pdf to Ann", True),
        ("general", "post it in 'general'", True),
        ("general", "post it in general-public", False),
        ("straße.example", "look at strasse.example", False),
        ("firma2024.example", "see firma-2024.example", False),
        ("evil2024.example", "the evil 2024 example", False),
        ("+491512345678", "call +49 151 2345678", True),
        ("4915123456", "between 49, 151 and 23456", False),
    ],
)
def test_what_counts_as_named(place: str, said: str, stands: bool) -> None:
    assert stands_in(place, normal(said)) == stands


@pytest.mark.parametrize(
    ("field", "name", "said", "named"),
    [
        ("channel", "general", "what is in my mail, in general?", False),
        ("to", "general", "what is in my mail, in general?", False),
        ("channel", "random", "tell me a random joke", False),
        ("channel", "news", "any news?", False),
        ("to", "Bill", "pay the bill", False),
        ("category", "mail", "what is in my mail?", False),
        ("channel", "General", "post it in 'general'", True),
        ("channel", "general", "post it to general", True),
        ("channel", "general", "in the general channel", True),
        ("channel", "general", "#general: good morning", True),
        ("room", "allgemein", "schreib es in den Kanal allgemein", True),
        ("room", "général", "dis-le au salon général", True),
        ("to", "bob", "tell bob that I am late", True),
        ("to", "Bob", "Bob has to know it", True),
        ("to", "support", "send it to the support", True),
        ("city", "Paris", "a hotel in Paris", True),
    ],
)
def test_a_word_of_the_sentence_is_no_name(field: str, name: str, said: str, named: bool) -> None:
    assert Target(name, "", field).is_named(normal(said)) == named


@pytest.mark.parametrize(
    ("payload", "places", "texts"),
    [
        ({"to": "ann", "body": "Dinner?"}, ["ann"], ["Dinner?"]),
        ({"to": "ann", "body": "Log in at www.evil.example/x"}, ["ann", "www.evil.example/x"], 1),
        ({"body": "Card 4237-4252-7456-2574"}, ["4237-4252-7456-2574"], 1),
        ({"body": "Ask @evilbot"}, ["@evilbot"], 1),
        ({"body": "See docs.md, and 10:30 on 2026-05-01."}, [], 1),
        ({"title": "Dinner", "start_time": "2026-05-01 09:00"}, [], ["Dinner"]),
        ({"userEmail": "a@b.example", "eventTitle": "Lunch"}, ["a@b.example"], ["Lunch"]),
        ({"to": "x" * 200}, ["x" * 200], 0),
        ({"to": "mallory\neve"}, ["mallory", "eve"], 0),
        ({"names": ", ".join(["mallory"] + ["ann"] * 30)}, ["mallory", "ann"], 0),
        ({"on": True, "off": None, "to": ""}, [], []),
    ],
)
def test_places_and_texts(payload: dict[str, Any], places: list[str], texts: Any) -> None:
    found = values_of(payload)

    assert [one.shown for one in found.places.values()] == places
    assert found.texts == texts or len(found.texts) == texts


def test_a_call_with_too_many_values_is_told() -> None:
    assert not values_of({"a": ["x"] * MOST}).too_many
    assert values_of({"a": ["x"] * (MOST + 1)}).too_many


@pytest.mark.parametrize(
    ("number", "said"),
    [(2200.0, "rent is 2200"), (10.0, "that 10.00"), (1234.5, "1'234.50"), (1234.5, "1.234,50 €")],
)
def test_a_number_is_named_however_it_is_written(number: float, said: str) -> None:
    assert has_number(number, said)
    assert not has_number(number + 1, said)


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("on 2025-01-11", True),
        ("from January 11th to January 15th 2025", True),
        ("am 11. Januar", True),
        ("on the 11th of January", True),
        ("11.1.", True),
        ("1/11", True),
        ("on January 12th", False),
        ("at 11:30 in January", False),
        ("11 people", False),
    ],
)
def test_a_day_is_named_by_its_date_or_by_month_and_number(said: str, named: bool) -> None:
    assert has_day("2025-01-11 09:00", normal(said)) == named


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("https://Docs.example/forms/d/OWN?b=c", "docs.example/forms/d/OWN"),
        (r"https://evil.example\@docs.example", r"evil.example\@docs.example"),
        ("www.evil.example/", "evil.example"),
        ("Ann@Home.example", "ann@home.example"),
        ("General", "general"),
        ("http://[", "["),
    ],
)
def test_a_rule_names_an_address_up_to_its_path_else_the_place(text: str, rule: str) -> None:
    assert rule_of(text) == rule


def test_a_link_is_a_value_that_is_nothing_else() -> None:
    assert as_link("https://a.example/?q=1")
    assert as_link("a.example/x")
    assert not as_link("see a.example/x")
    assert not as_link("ann@home.example")
