"""Sentences with a rule of their own. Source: reference part B, "what people read"."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aouo.facts import errors
from aouo.facts.address import ConversationAddress, Platform
from aouo.facts.work import Route
from aouo.words import models
from aouo.words.catalogue import text
from aouo.words.conversations import whereabouts

HERE = Route(1, "notes", "", "s", "", 1)


def test_why_a_model_gave_no_answer_has_words_for_each_error() -> None:
    kinds = [one for one in vars(errors).values() if isinstance(one, type)]
    found = {
        one.__name__: models.no_answer_because(one.__name__)
        for one in kinds
        if issubclass(one, errors.ProviderError) and one is not errors.ProviderError
    }

    assert "ProviderBusy" in found
    assert [name for name, why in found.items() if why == "failed"] == []


@pytest.mark.parametrize(
    ("writes_bytes", "said"), [(0, "0 bytes"), (1, "1 byte"), (1_234, "1,234 bytes")]
)
def test_an_approval_counts_what_would_be_written(writes_bytes: int, said: str) -> None:
    assert text("questions.writes", count=writes_bytes) == f"write {said} to"


@pytest.mark.parametrize(("platform", "told"), [("tg", True), ("web", False), ("cli", False)])
def test_whereami_tells_a_topic_only_where_there_are_topics(platform: Platform, told: bool) -> None:
    where = whereabouts(ConversationAddress(platform, "~"), HERE, ["notes"])

    assert ("Topic: none" in where.text) == told


def test_whereami_says_what_is_off_the_record_and_how_to_end_it() -> None:
    here = ConversationAddress("tg", "1")
    on_the_record = whereabouts(here, HERE, ["notes"]).text
    off = whereabouts(here, replace(HERE, off_record=True), ["notes"]).text

    assert off == f"{on_the_record}\nOff the record: nothing is kept. /otr ends it."
