"""Reads amounts of money: figures of any language, spelled numbers, each currency by its ISO code,
its sign or a word for it.

Half of an amount is none: words that are left over make the text another one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any

from aouo.facts import languages, numbers
from aouo.facts.letters import folded

_READ_MAX, _NAME_WORDS_MAX = 5_000, 3
_LARGEST = Decimal(10) ** 9
_DASHES = "–—−-"
_FIGURE = re.compile(
    r"""(?: (?P<grouped> [1-9]\d{0,2} (?P<mark>[.,'\ ]) \d{3} (?: (?P=mark)\d{3} )* )
            (?: (?!(?P=mark)) [.,] (?P<a>\d\d?) )?
        | (?P<lakhs> \d{1,2} (?:,\d\d)+ ,\d{3} ) (?: \. (?P<b>\d\d?) )?
        | (?P<whole>\d*) [.,] (?P<c>\d\d?)
        | (?P<plain>\d+) )
        (?! [.,']?\d )""",
    re.VERBOSE,
)
_NO_CENTS = re.compile(rf"[.,]?[{_DASHES}]+(?=\s|$|\D)|[.,](?=\s|$)")
_EDGES = re.compile(
    r"(?<=\d)(?=[^\W\d])|(?<=[^\d.,])(?=\d)|(?<=[\u3040-\u9fff])|(?=[\u3040-\u9fff])"
)


DOUBTS = frozenset({"slots.money-open", "slots.money-large"})
"""Why what is an amount is not taken as one."""


@dataclass(frozen=True, slots=True)
class Money:
    """An amount; `currency` as it is shown, "" = none was named."""

    amount: Decimal
    currency: str = ""


class NoAmount(ValueError):
    """A text that is no amount; `why` names a sentence."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class _Reading:
    money: Money
    marked: bool
    """Whether it shows by itself that it is money: it has a currency or cents, or is a note."""


@dataclass(frozen=True, slots=True)
class _Count:
    """A number, the words after it, and whether it is money by its form."""

    value: Decimal
    rest: Sequence[str]
    marked: bool = False


def read(text: str, language: str) -> Money:
    """Read an amount.

    Raises:
        NoAmount: it is none, could be two, or is more than anybody pays.
    """
    reading = _read(" ".join(text.split()), language)
    if isinstance(reading, str):
        raise NoAmount(reading)
    return reading.money


def is_marked(text: str, language: str) -> bool:
    """Whether a text is an amount that shows by itself: it has a currency, or cents."""
    reading = _read(" ".join(text.split()), language)
    return isinstance(reading, _Reading) and reading.marked


def say(money: Money, language: str) -> str:
    """Say an amount back; `read` makes the same of it."""
    return f"{localised(f'{money.amount:.2f}', language)} {money.currency}".strip()


def localised(figures: str, language: str) -> str:
    """Return figures with a decimal point as a language writes them."""
    decimal, thousands = numbers.marks(language)
    if thousands == " ":
        figures = re.sub(r"\d{4,}(?=\.)", lambda whole: f"{int(whole[0]):,}", figures)
    return figures.translate({ord("."): decimal, ord(","): "\u202f"})


@languages.derived
@lru_cache(maxsize=_READ_MAX)
def _read(text: str, language: str) -> _Reading | str:
    """Return what a text is, or why it is none."""
    text = _bare(text)
    negative = re.match(rf"[{_DASHES}](?=[^\s{_DASHES}])", text) is not None
    text = text.lstrip(f"+{_DASHES} ")
    head = re.match(rf"[^\d\s.,{_DASHES}]+(?=\.?\s?[{_DASHES}]?[.,]?\d)", text)
    sign = _currency(head.group(), before=True) if head else ""
    if head and sign:
        text = text[head.end() :].removeprefix(". ").strip()
        negative = negative or text[:1] in _DASHES
        text = text.lstrip(f"{_DASHES} ")
    count = _figures(text, language) or _spelled(text, language)
    if isinstance(count, str):
        return count
    reading = _named(count, sign, language)
    if reading is None:
        return "slots.no-money"
    if reading.money.amount >= _LARGEST:
        return "slots.money-large"
    money = replace(reading.money, amount=-reading.money.amount) if negative else reading.money
    return _Reading(money, reading.marked)


def _bare(text: str) -> str:
    """Return a text without a word that says only that it is about so much."""
    first, _, rest = text.replace("’", "'").strip().partition(" ")
    return rest if rest and folded(first).rstrip(".") in _about() else f"{first} {rest}".strip()


def _figures(text: str, language: str) -> _Count | str | None:
    """Read an amount that begins in figures; None: it does not."""
    figure = _FIGURE.match(text)
    if figure is None:
        return "slots.no-money" if text[:1].isdigit() else None
    value = _value(figure, language)
    if value is None:
        return "slots.money-open"
    after = text[figure.end() :]
    if after[:1] == "." and "." in f"{value:f}":
        return "slots.no-money"  # a day: 27.11.
    dash = _NO_CENTS.match(after)
    rest = _EDGES.sub(" ", after[dash.end() :] if dash else after).split()
    if rest and (factor := _table("large").get(folded(rest[0]).rstrip("."))):
        return _Count(value * Decimal(factor), rest[1:])
    spelled = numbers.spelled([f"{value:f}", *rest], language) if rest else None
    if spelled and spelled[1] > 1:
        return _Count(spelled[0], rest[spelled[1] - 1 :])
    return _Count(value, rest, "." in f"{value:f}" or bool(dash and dash.group().strip(".,")))


def _value(figure: re.Match[str], language: str) -> Decimal | None:
    """Return the value of figures, None if they can be two: 1.234 is one or a thousand."""
    decimals = figure["a"] or figure["b"] or figure["c"]
    if figure["grouped"] and not decimals and figure["mark"] in ".,":
        certain = figure["grouped"].count(figure["mark"]) > 1
        if not certain and figure["mark"] != numbers.marks(language)[1]:
            return None
    whole = figure["grouped"] or figure["lakhs"] or figure["whole"] or figure["plain"] or "0"
    return Decimal(re.sub(r"\D", "", whole) + (f".{decimals}" if decimals else ""))


def _spelled(text: str, language: str) -> _Count | str:
    """Read an amount that begins in words, of this language before the others."""
    words = _EDGES.sub(" ", text).split()
    codes = dict.fromkeys((language, *languages.names()))
    readings = (numbers.spelled(words, code, articles=True) for code in codes)
    value, length = max(filter(None, readings), key=lambda one: one[1], default=(Decimal(1), 0))
    if length < len(words):
        following = folded(words[length])
        if note := _table("notes").get(following):
            return _Count(value * Decimal(note), words[length + 1 :], marked=True)
        if length and (factor := _table("large").get(following)):
            return _Count(value * Decimal(factor), words[length + 1 :])
    certain = any(numbers.spelled(words, code) for code in codes)
    return (
        _Count(value, words[length:])
        if length and (certain or words[length:])
        else "slots.no-money"
    )


def _named(count: _Count, sign: str, language: str) -> _Reading | None:
    """Return a number with the currency that its words name; None if they are something else."""
    rest = [*count.rest]
    if len(rest) == 1 and not sign and (whose := _table("cents").get(_name(rest[0]))) is not None:
        return _Reading(Money(count.value / 100, _shown(whose)), marked=True)
    names = ((_currency(" ".join(rest[:n])), n) for n in range(_NAME_WORDS_MAX, 0, -1))
    name, length = next(((name, n) for name, n in names if name and n <= len(rest)), ("", 0))
    if sign and name and name != sign and _code(name) not in _signs()["ambiguous"].get(sign, ()):
        return None
    currency, value = name or sign, count.value
    if rest := rest[length:]:
        cents = _cents(rest, language)
        if cents is None or not currency or value % 1:
            return None
        value += cents
    return _Reading(Money(value, currency), bool(currency) or count.marked)


def _cents(words: Sequence[str], language: str) -> Decimal | None:
    """Return what is said after a currency: "3 euros *and fifty cents*"."""
    joined = numbers.joins(words[0], language)
    words = words[joined:]
    if words and _name(words[-1]) in _table("cents"):
        words = words[:-1]
    spelled = numbers.spelled(words, language)
    if spelled and spelled[1] == len(words) and 0 < spelled[0] < 100 and spelled[0] % 1 == 0:
        return spelled[0] / 100
    return None


def _name(text: str) -> str:
    return folded(text).rstrip(".")


def _currency(text: str, *, before: bool = False) -> str:
    """Return the currency of a sign, a code or a word, as it is shown; "" = it is none. `before`:
    it stands before the figures, where no word does."""
    code = text.rstrip(".").upper()
    if code in _signs()["codes"] and (text.isupper() or code not in _signs()["capitals"]):
        return _shown(code)
    name = _name(text)
    return _names().get(name, "") if not before or name in _marks() else ""


def _shown(code: str) -> str:
    return _signs()["shown"].get(code, code)


def _code(shown: str) -> str:
    return next((code for code, sign in _signs()["shown"].items() if sign == shown), shown)


@languages.derived
@cache
def _signs() -> Mapping[str, Any]:
    import yaml

    return yaml.safe_load((languages.FOLDER / "currencies.yml").read_text("utf-8"))


@languages.derived
@cache
def _marks() -> Mapping[str, str]:
    """Return the signs that may stand before figures, folded, and what they are shown as."""
    own = {folded(sign): sign for sign in _signs()["shown"].values()}
    return own | {folded(sign): _shown(code) for sign, code in _signs()["signs"].items()}


@languages.derived
@cache
def _names() -> Mapping[str, str]:
    pairs = languages.pairs("numbers", "currencies")
    words = {_name(word): _shown(code) for word, code in pairs.items()}
    return words | {sign.rstrip("."): shown for sign, shown in _marks().items()}


@languages.derived
@cache
def _table(key: str) -> Mapping[str, Any]:
    return {folded(word): value for word, value in languages.pairs("numbers", key).items()}


@languages.derived
@cache
def _about() -> frozenset[str]:
    return frozenset(folded(word) for word in languages.words("numbers", "about"))


@languages.derived
@cache
def _nouns() -> frozenset[str]:
    """Return each word and sign, folded, that shows that something is money."""
    codes = (code.lower() for code in _signs()["codes"] if code not in _signs()["capitals"])
    return frozenset((*_names(), *_table("notes"), *_table("cents"), *codes))


@languages.derived
@lru_cache(maxsize=_READ_MAX)
def may_begin(word: str) -> bool:
    """Whether an amount may begin with this word, folded: a number, a sign, a note, "about"."""
    return (
        word in _nouns()
        or word in _about()
        or word.upper() in _signs()["capitals"]
        or any(numbers.spelled([word], code, articles=True) for code in languages.names())
    )
