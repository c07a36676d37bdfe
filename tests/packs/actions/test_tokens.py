"""Words that are written as one are taken apart, each with its place. Source: issue 43."""

from __future__ import annotations

import pytest

from aouo.facts import languages
from aouo.packs.actions.patterns import readings
from aouo.packs.actions.phrases import Phrase, Phrases
from aouo.packs.actions.tokens import tokens
from tests.packs.actions.test_phrases import HERE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("d'appeler", [("de", "d'"), ("appeler", "appeler")]),
        ("L’heure qu’il", [("le", "L’"), ("heure", "heure"), ("que", "qu’"), ("il", "il")]),
        ("aujourd'hui", [("aujourd'hui", "aujourd'hui")]),
        ("aujourd’hui", [("aujourd'hui", "aujourd’hui")]),
        ("d'aujourd'hui", [("de", "d'"), ("aujourd'hui", "aujourd'hui")]),
        ("quelqu'un", [("quelqu'un", "quelqu'un")]),
        ("rappelle-moi", [("rappelle", "rappelle"), ("moi", "-moi")]),
        ("qu'est-ce", [("que", "qu'"), ("est", "est"), ("ce", "-ce")]),
        ("après-midi", [("apres-midi", "après-midi")]),
        ("o'clock", [("o'clock", "o'clock")]),
        ("don't", [("don't", "don't")]),
        ("¿¡Hola!", [("hola", "Hola")]),
    ],
)
def test_a_word_that_lost_its_end_and_one_that_is_attached_stand_alone(
    text: str, words: list[tuple[str, str]]
) -> None:
    assert [(token.folded, text[token.start : token.end]) for token in tokens(text)] == words


@pytest.mark.parametrize("text", ["rappelle-moi d'appeler Ben", "rappelle moi d’appeler Ben"])
def test_a_slot_holds_what_comes_after_an_elided_word_as_it_is_typed(text: str) -> None:
    phrases = Phrases([Phrase("own", "add", "rappelle moi de {text}", "fr")])

    (match,) = phrases.match(text, HERE, ["own"])

    assert match.texts == {"text": "appeler Ben"}


@pytest.mark.parametrize("language", list(languages.names()))
def test_each_pattern_of_a_language_can_be_read(language: str) -> None:
    """Who asks for more ways than there may be is not heard at all."""
    table, talk = (languages.table(language, name) for name in ("phrases", "talk"))
    keys = ("reminders", "finding", "obliged", "before", "after")
    patterns = [pattern for key in keys for pattern in table.get(key, ())]
    patterns += [one for alarm in table.get("alarms", ()) for one in alarm["phrases"]]
    patterns += [
        one for those in (*table.get("commands", {}).values(), *talk.values()) for one in those
    ]

    for pattern in patterns:
        assert readings(pattern)
