"""An amount is read whole, with its currency, or refused. Source: issue 43, and the kinds of
phrases that public suites for currencies and amounts of money hold."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from babel.numbers import list_currencies
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts import languages
from aouo.packs.actions import money, spending
from aouo.packs.actions.money import Money, NoAmount, read, say

TABLE: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("money.yml").read_text("utf-8")
)
CASES = [(language, text, kept) for language, rows in TABLE.items() for text, kept in rows.items()]
SIGNS: dict[str, Any] = yaml.safe_load((languages.FOLDER / "currencies.yml").read_text("utf-8"))
SHOWN = sorted(
    {SIGNS["shown"].get(code, code) for code in SIGNS["codes"]} | {*SIGNS["ambiguous"], ""}
)


@pytest.mark.parametrize(("language", "text", "kept"), CASES)
def test_an_amount_is_read_whole_or_refused(language: str, text: str, kept: Any) -> None:
    if isinstance(kept, list):
        assert read(text, language) == Money(Decimal(str(kept[0])), kept[1])
    elif kept:
        with pytest.raises(NoAmount) as caught:
            read(text, language)
        assert caught.value.why == f"slots.{kept}"


@given(
    st.integers(0, 10**11 - 1), st.sampled_from(SHOWN), st.sampled_from(sorted(languages.names()))
)
def test_an_amount_that_is_said_back_reads_as_itself(
    cents: int, currency: str, language: str
) -> None:
    amount = Money(Decimal(cents) / 100, currency)

    assert read(say(amount, language), language) == amount


@given(
    st.integers(1, 999_999),
    st.sampled_from(["€", "$", "SEK", "zł", "euros", "kr", "bucks"]),
    st.sampled_from(["{} {}", "{}{}", "about {} {}"]),
    st.sampled_from(["en", "de"]),
)
def test_a_number_with_a_unit_loses_no_digits(
    amount: int, unit: str, form: str, language: str
) -> None:
    assert read(form.format(amount, unit), language).amount == amount
    assert read(form.format(f"{amount}.05", unit), language).amount == amount + Decimal("0.05")


@given(st.text(max_size=40) | st.text("0123456789.,' -€$kEUR", max_size=20))
def test_no_text_breaks_the_reader(text: str) -> None:
    for language in ("en", "de", "fr", "xx"):
        try:
            amount = read(text, language)
        except NoAmount:
            continue
        assert read(say(amount, language), language).currency == amount.currency


def test_each_code_is_one_of_iso_4217() -> None:
    assert set(SIGNS["codes"]) <= list_currencies()
    assert {*SIGNS["shown"], *SIGNS["capitals"]} <= set(SIGNS["codes"])


def test_each_word_for_a_currency_names_a_code_or_a_sign() -> None:
    known = {*SIGNS["codes"], *SIGNS["ambiguous"], ""}
    for language in ("en", "de", "es", "fr", "ru", "zh"):
        table = languages.table(language, "numbers")

        assert {*table["currencies"].values(), *table["cents"].values()} <= known, language
    assert set(SIGNS["signs"].values()) <= known
    assert money.is_marked("5 €", "en")


@given(st.text("12.50 €,;+and ", max_size=20), st.text(max_size=20))
def test_no_words_break_what_is_said_of_them(words: str, others: str) -> None:
    spending.holds_amount(words, "en")
    spending.is_torn(words, others, "en")
    spending.is_unspent(others, ())
    spending.is_statement(words)
