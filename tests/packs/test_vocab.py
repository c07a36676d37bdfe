"""When a word is asked again: laws of the triggers and views of packs/vocab. Source: its README."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aouo.facts.errors import ToolFailed
from aouo.packs.data.storage import PackStore
from aouo.packs.library import scan
from tests.packs import sql_time

PACK = scan(Path(__file__).parents[2] / "packs", enabled=["vocab"]).packs["vocab"]
START = datetime(2026, 3, 2, 12, tzinfo=UTC)
GRADES = ("again", "hard", "good", "easy")
Row = dict[str, Any]
STATE = "due, interval_days, ease, lapses, reviews, first_at, reviewed_at"


@dataclass
class Learner:
    """One person's words, and what day it is."""

    store: PackStore
    now: list[datetime]
    calls: count[int] = field(default_factory=count)

    def persist(self, action: str, **arguments: object) -> Row:
        made = self.store.run(
            action,
            arguments,
            call_id=str(next(self.calls)),
            session_key="s",
            now=self.now[0].isoformat(),
        )
        return dict(made)

    def add(self, *words: str) -> None:
        for word in words:
            self.persist("upsert", table="words", data={"word": word, "meaning": "…"})

    def rate(self, word: str, grade: str) -> int:
        data = {"word": word, "grade": grade}
        return int(self.persist("save", table="reviews", data=data)["id"])

    def due(self) -> list[str]:
        return [str(row["word"]) for row in self.store.read("SELECT word FROM due", limit=500)]

    def card(self, word: str = "Baum") -> Row:
        (row,) = self.store.read(f"SELECT {STATE} FROM cards WHERE word = ?", (word,))
        return row

    def later(self, days: int) -> None:
        self.now[0] += timedelta(days=days)


@contextmanager
def learning(*words: str) -> Generator[Learner]:
    now = [START]
    with (
        pytest.MonkeyPatch.context() as patch,
        TemporaryDirectory() as folder,
    ):
        sql_time.tell(patch, lambda: now[0])
        with closing(PackStore(Path(folder) / "t.db", PACK.manifest, PACK.schema_sql)) as store:
            learner = Learner(store, now)
            learner.add(*words)
            yield learner


@pytest.fixture
def learner() -> Generator[Learner]:
    with learning("Baum") as learner:
        yield learner


answers = st.lists(st.tuples(st.integers(0, 40), st.sampled_from(GRADES)), max_size=8)


@settings(max_examples=15, deadline=None)
@given(answers)
def test_any_history_of_answers_keeps_the_promises_of_a_card(
    history: list[tuple[int, str]],
) -> None:
    """Never in the past, never beyond a year; again comes today; better grades come no sooner."""
    with learning("Baum") as learner:
        for days, grade in history:
            learner.later(days)
            was_due = learner.due() == ["Baum"]
            before = learner.card()
            learner.rate("Baum", grade)
            card = learner.card()
            today = learner.now[0].astimezone().date()
            wanted = today + timedelta(days=int(card["interval_days"]))

            assert 0 <= card["interval_days"] <= 365
            assert card["ease"] >= 130
            assert card["due"] == (str(wanted) if was_due or grade == "again" else before["due"])
            assert card["lapses"] - before["lapses"] in (0, grade == "again")
            if was_due and grade != "again" and before["interval_days"] < 365:
                assert card["interval_days"] > before["interval_days"] or grade == "hard"
        learner.later(365)
        outlook: list[int] = []
        for grade in GRADES:
            review = learner.rate("Baum", grade)
            outlook.append(int(learner.card()["interval_days"]))
            learner.persist("delete", table="reviews", where={"id": review})

        assert outlook == sorted(outlook)
        assert outlook[0] == 0


@settings(max_examples=15, deadline=None)
@given(answers)
def test_answers_taken_back_one_by_one_leave_the_card_as_it_was(
    history: list[tuple[int, str]],
) -> None:
    with learning("Baum") as learner:
        states, reviews = [learner.card()], list[int]()
        for days, grade in history:
            learner.later(days)
            reviews.append(learner.rate("Baum", grade))
            states.append(learner.card())
        for review in reversed(reviews):
            assert learner.card() == states.pop()
            learner.persist("delete", table="reviews", where={"id": review})
        assert learner.card() == states.pop()


def test_an_older_answer_that_is_deleted_moves_nothing(learner: Learner) -> None:
    first = learner.rate("Baum", "good")
    learner.later(1)
    learner.rate("Baum", "good")
    before = learner.card()
    learner.persist("delete", table="reviews", where={"id": first})

    assert learner.card() == before


def test_a_day_brings_no_more_new_words_than_wanted_and_the_rest_later() -> None:
    words = [f"word {number:02}" for number in range(25)]
    with learning(*words) as learner:
        learner.persist("upsert", table="settings", data={"name": "new_per_day", "value": "10"})
        days: list[list[str]] = []
        for _ in range(3):
            days.append(learner.due())
            for word in days[-1]:
                learner.rate(word, "easy")
            assert learner.due() == []
            learner.later(1)

    assert days == [words[:10], words[10:20], words[20:]]


def test_what_waits_longest_comes_first_then_new_words_then_what_was_forgotten_today() -> None:
    with learning("old", "older") as learner:
        learner.rate("older", "good")
        learner.later(1)
        learner.rate("old", "good")
        learner.later(2)
        learner.add("new")
        assert learner.due() == ["older", "old", "new"]
        learner.rate("older", "again")

        assert learner.due() == ["old", "new", "older"]


@pytest.mark.parametrize("bad", [{"word": "baum", "grade": "good"}, {"word": "Baum", "grade": "5"}])
def test_an_answer_that_makes_no_sense_is_refused_and_changes_nothing(
    learner: Learner, bad: Row
) -> None:
    """Capitals count: "essen" and "Essen" are two words."""
    before = learner.card()
    with pytest.raises(ToolFailed, match=r"not in words|again"):
        learner.persist("save", table="reviews", data=bad)

    assert learner.card() == before


def test_a_word_that_is_respelt_keeps_what_is_known_of_it(learner: Learner) -> None:
    learner.rate("Baum", "good")
    before = learner.card()
    learner.persist("update", table="words", where={"word": "Baum"}, data={"word": "der Baum"})

    assert learner.card("der Baum") == before
    assert learner.store.read("SELECT word FROM reviews") == [{"word": "der Baum"}]


def test_the_statistics_stay_when_a_word_goes(learner: Learner) -> None:
    learner.rate("Baum", "again")
    learner.rate("Baum", "good")
    learner.persist("delete", table="words", where={"word": "Baum"})
    (today,) = learner.store.read("SELECT reviews, correct FROM days")
    (progress,) = learner.store.read("SELECT words, due, streak FROM progress")

    assert (today, progress) == (
        {"reviews": 2, "correct": 1},
        {"words": 0, "due": 0, "streak": 1},
    )


def test_menus_of_a_year_of_words_are_shown_within_the_time_a_query_has(learner: Learner) -> None:
    """8,000 words and 4,000 answers on 270 days; a query has 2 s (packs.md)."""
    days = [f"2025-{month:02}-{day:02}T10:00:00Z" for month in range(4, 13) for day in range(1, 31)]
    words = [(f"word {number}", days[0]) for number in range(8_000)]
    reviews = [(words[n % 2_000][0], GRADES[n % 4], days[n % len(days)]) for n in range(4_000)]
    write = learner.store._connection  # as many calls would take a minute
    write.execute("BEGIN")
    write.executemany("INSERT INTO words (word, meaning, created_at) VALUES (?, '…', ?)", words)
    write.executemany("INSERT INTO reviews (word, grade, created_at) VALUES (?, ?, ?)", reviews)
    write.execute("COMMIT")

    (main,), *_ = [learner.store.read(page.sql) for page in PACK.menu]

    assert main["words"] == 8_001


def test_a_word_that_comes_back_after_it_was_deleted_begins_anew(learner: Learner) -> None:
    learner.rate("Baum", "easy")
    learner.persist("delete", table="words", where={"word": "Baum"})
    learner.add("Baum")

    assert learner.due() == ["Baum"]
