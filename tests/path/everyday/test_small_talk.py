"""Greetings, thanks and what stops are heard as people type them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from aouo.flow.talking import heard
from aouo.packs.actions.slots import Here

SAID = {
    ("greeting", "en"): ["heyyy", "hiii", "helloooo", "goood morning", "oi"],
    ("greeting", "de"): ["huhuuu", "halloooo", "moinnn", "grüß dich"],
    ("greeting", "es"): ["holaa", "holaaaa", "buenaas"],
    ("greeting", "fr"): ["saluut", "coucouuu", "slt"],
    ("thanks", "en"): ["thankssss", "tysm", "cheers pal", "cheers you're a star"],
    ("thanks", "de"): ["dankeee", "danke digga", "danke, sehr lieb"],
    ("thanks", "es"): ["graciaaas tío"],
    ("thanks", "fr"): ["merciii", "merci chef"],
    ("love", "en"): ["ugh its raining again", "im knackered", "long day today"],
    ("love", "de"): ["boah bin ich müde", "schon wieder regen, bäh", "es regnet schon wieder"],
    ("bye", "en"): ["gotta go, bye", "night night"],
    ("bye", "de"): ["ich muss los, ciao", "schönen feierabend"],
    ("stop", "en"): ["thats enough ta", "stop, thats enough", "ok enough for today"],
    ("stop", "de"): ["stopp, reicht", "ok das reicht", "ok das wars danke"],
    ("stop", "es"): ["vale ya está gracias", "para, ya está", "ok con eso basta"],
    ("stop", "fr"): ["ok c'est bon merci", "stop ça suffit", "non c'est bon"],
    ("", "en"): ["seems wrong", "stop the car at nine", "goose"],
}


@pytest.mark.parametrize(("kind", "language"), [*SAID])
def test_small_talk_is_heard_as_it_is_typed(kind: str, language: str) -> None:
    here = Here(datetime(2026, 11, 28, 10, 0, tzinfo=UTC), UTC, language)

    kinds = {said: heard(said, here)[0] for said in SAID[kind, language]}

    assert kinds == dict.fromkeys(SAID[kind, language], kind)
