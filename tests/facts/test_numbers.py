"""A number is read whole, in the words of a language or in figures. Source: issue 43."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.numbers import numeral, ordinal, spelled

CASES = [
    (language, text, expected)
    for language, table in yaml.safe_load(
        Path(__file__).with_name("numbers.yml").read_text("utf-8")
    ).items()
    for text, expected in table.items()
]


@pytest.mark.parametrize(("language", "text", "expected"), CASES)
def test_the_longest_number_at_the_beginning_is_read(
    language: str, text: str, expected: list[float] | None
) -> None:
    value = expected and (Decimal(str(expected[0])), expected[1])

    assert spelled(text.split(), language) == value


def test_an_article_counts_as_one_where_it_may() -> None:
    assert spelled(["an", "hour"], "en", articles=True) == (1, 1)
    assert spelled(["einem", "Tag"], "de", articles=True) == (1, 1)
    assert spelled(["a", "hundred"], "en") == (100, 2)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "third of may", (3, 1)),
        ("en", "twenty first", (21, 2)),
        ("en", "thirty-first", (31, 1)),
        ("de", "einundzwanzigsten Mai", (21, 1)),
        ("de", "dritter", (3, 1)),
        ("de", "dreißigsten", (30, 1)),
        ("es", "primero de mayo", (1, 1)),
        ("fr", "premier mai", (1, 1)),
        ("ru", "двадцать первого мая", (21, 2)),
        ("en", "three", None),
    ],
)
def test_an_ordinal_is_read(language: str, text: str, expected: tuple[int, int] | None) -> None:
    assert ordinal(text.split(), language) == expected


def _english(number: int) -> str:
    small = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ]
    tens = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
    if number < 20:
        return small[number]
    for size, name in ((1_000_000, "million"), (1_000, "thousand"), (100, "hundred")):
        if number >= size:
            head = f"{_english(number // size)} {name}"
            glue = " and " if number % size < 100 else " "
            return f"{head}{glue}{_english(number % size)}" if number % size else head
    return tens[number // 10 - 2] + (f"-{small[number % 10]}" if number % 10 else "")


def _german(number: int, *, inside: bool = False) -> str:
    small = [
        "null",
        "ein",
        "zwei",
        "drei",
        "vier",
        "fünf",
        "sechs",
        "sieben",
        "acht",
        "neun",
        "zehn",
        "elf",
        "zwölf",
        "dreizehn",
        "vierzehn",
        "fünfzehn",
        "sechzehn",
        "siebzehn",
        "achtzehn",
        "neunzehn",
    ]
    tens = ["zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]
    if number < 20:
        return "eins" if number == 1 and not inside else small[number]
    for size, name in ((1_000, "tausend"), (100, "hundert")):
        if number >= size:
            head = f"{_german(number // size, inside=True)}{name}"
            return head + (_german(number % size) if number % size else "")
    unit = f"{small[number % 10]}und" if number % 10 else ""
    return unit + tens[number // 10 - 2]


@given(st.integers(0, 999_999_999))
def test_each_number_of_english_reads_as_itself(number: int) -> None:
    words = _english(number).split()

    assert spelled(words, "en") == (number, len(words))


@given(st.integers(0, 999_999))
def test_each_number_of_german_reads_as_itself(number: int) -> None:
    assert spelled([_german(number)], "de") == (number, 1)


@given(st.lists(st.text(max_size=12), max_size=8), st.sampled_from(["en", "de", "fr", "zh", "xx"]))
def test_no_words_break_the_reader(words: list[str], language: str) -> None:
    value = spelled(words, language)
    place = ordinal(words, language)

    assert value is None or 0 < value[1] <= len(words)
    assert place is None or 0 < place[1] <= len(words)


@pytest.mark.parametrize(
    ("language", "text", "value"),
    [
        ("en", "1,234", "1234"),
        ("de", "1.234", "1234"),
        ("de", "1,234", "1.234"),
        ("en", "1.234,56", "1234.56"),
        ("de", "1,234.56", "1234.56"),
        ("fr", "1 234,56", "1234.56"),
        ("en", "12'500", "12500"),
        ("en", "1,00,000", "100000"),
        ("en", "1.000.000", "1000000"),
        ("de", "3,5", "3.5"),
    ],
)
def test_figures_are_read_with_either_separator(language: str, text: str, value: str) -> None:
    assert numeral(text, language) == Decimal(value)
