"""Times as people write them, read whole and found in sentences; the kinds are those of public
suites, the values our own. Source: issue 43."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts import languages, times
from aouo.packs.actions.matching import Match, Phrase
from aouo.packs.actions.phrases import Phrases
from aouo.packs.actions.slots import Here

FILES = [
    file for file in sorted(Path(__file__).parent.glob("*.yml")) if file.stem in languages.names()
]
WHEN = {"when": "datetime", "text": "text"}
AGAIN = {"when": "recurrence", "text": "text"}
PATTERNS = {
    "en": (
        ("remind me {when} to {text}", "remind me {} to sweep the stairs", "sweep the stairs"),
        ("remind me to {text} {when}", "remind me to sweep the stairs {}", "sweep the stairs"),
    ),
    "de": (
        ("erinnere mich {when} an {text}", "erinnere mich {} an den Besen", "den Besen"),
        ("erinnere mich an {text} {when}", "erinnere mich an den Besen {}", "den Besen"),
    ),
    "ru": (
        ("напомни мне {when} {text}", "напомни мне {} купить хлеб", "купить хлеб"),
        ("напомни мне {text} {when}", "напомни мне купить хлеб {}", "купить хлеб"),
    ),
    "zh": (
        ("提醒我{when}{text}", "提醒我{}给妈妈打电话", "给妈妈打电话"),
        ("{when}提醒我{text}", "{}提醒我给妈妈打电话", "给妈妈打电话"),
    ),
    "es": (
        ("recuérdame {when} {text}", "recuérdame {} barrer el patio", "barrer el patio"),
        ("recuérdame {text} {when}", "recuérdame barrer el patio {}", "barrer el patio"),
    ),
    "fr": (
        ("rappelle-moi {when} de {text}", "rappelle-moi {} de laver le sol", "laver le sol"),
        ("rappelle-moi de {text} {when}", "rappelle-moi de laver le sol {}", "laver le sol"),
    ),
}
PHRASES = Phrases(
    [
        Phrase("own", action, pattern, language, kinds=kinds)
        for language, patterns in PATTERNS.items()
        for pattern, *_ in patterns
        for action, kinds in (("once", WHEN), ("again", AGAIN))
    ]
)


def cases(*languages: str) -> list[Any]:
    listed: list[Any] = []
    for file in FILES:
        document = yaml.safe_load(file.read_text("utf-8"))
        zone = ZoneInfo(document["zone"])
        now = datetime.fromisoformat(str(document["now"])).replace(tzinfo=zone)
        here = Here(now, zone, file.stem)
        groups = (group for group in document.values() if isinstance(group, dict))
        texts = [case for group in groups for case in group.items()]
        for text, value in texts if file.stem in languages or not languages else ():
            name = f"{file.stem}: {text}"
            listed.append(pytest.param(here, str(text), shown(value, here), id=name))
    return listed


def shown(value: object, here: Here) -> str:
    if isinstance(value, times.Recurrence):
        return value.text
    if isinstance(value, datetime):
        wall = value.astimezone(here.zone) if value.tzinfo else value
        return f"{wall:%Y-%m-%d %H:%M}"
    return str(value)


def value_of(text: str, here: Here) -> str:
    try:
        value = times.read(text, here.now, here.zone, here.language, kind="when")
    except times.TimeRefused as error:
        return error.reason
    return shown(value, here)


@pytest.mark.parametrize(("here", "text", "value"), cases())
def test_a_time_is_read_or_refused_with_why(here: Here, text: str, value: str) -> None:
    assert value_of(text, here) == value


@pytest.mark.parametrize(("here", "text", "value"), cases())
def test_in_a_sentence_it_is_the_same_time_and_leaves_nothing_of_itself(
    here: Here, text: str, value: str
) -> None:
    for _, sentence, rest in PATTERNS[here.language]:
        for match in PHRASES.match(sentence.format(text), here, ("own",)):
            if match.misread:
                continue
            assert match.texts["text"] == rest
            assert shown(_value(match), here) == value


@pytest.mark.parametrize("language", PATTERNS)
def test_most_are_understood_in_a_sentence(language: str) -> None:
    """Right, or asked: of those that are no refusal, at most one in twenty is asked."""
    asked = [
        sentence.format(text)
        for here, text, value in (case.values for case in cases(language))
        if value[:1].isdigit() or value.startswith("every")
        for _, sentence, _ in PATTERNS[language]
        if all(one.misread for one in PHRASES.match(sentence.format(text), here, ("own",)))
    ]

    assert len(asked) <= 12, asked


TIMED = "tomorrow at noon friday 20 past 7 in two hours every other monday 5pm the 3rd of march and"


@given(st.lists(st.sampled_from(TIMED.split()), min_size=1, max_size=8).map(" ".join))
def test_a_reading_leaves_no_part_of_a_time_at_an_edge_of_the_words(words: str) -> None:
    here = Here(datetime(2026, 11, 26, 13, tzinfo=ZoneInfo("Europe/Berlin")), UTC, "en")
    for sentence in (f"remind me to sweep {words}", f"remind me {words} to sweep"):
        for match in PHRASES.match(sentence, here, ("own",)):
            if match.rank[0] > 0 and not match.misread:
                assert not times.is_timelike(match.texts["text"], "en")


def _value(match: Match) -> object:
    return match.values["when"]
