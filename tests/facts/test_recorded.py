"""What a turn records of itself is small, whatever happened in it. Source: issue 15, "Turns"."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.recorded import MOST_BYTES, FailedTry, Recorded, Section

texts = st.text(st.characters(), max_size=200)  # half characters, too
numbers = st.integers(0, 2**63)
recorded = st.builds(
    Recorded,
    st.lists(st.builds(Section, texts, numbers, numbers), max_size=60).map(tuple),
    st.lists(texts, max_size=4).map(tuple),
    st.lists(st.builds(FailedTry, texts, texts, texts, numbers), max_size=60).map(tuple),
    numbers,
    st.booleans(),
    texts,
)


@given(recorded)
def test_a_record_is_at_most_a_kilobyte_and_counts_what_it_leaves_out(whole: Recorded) -> None:
    text = whole.dump()
    read = Recorded.load(text)

    assert len(text.encode()) <= MOST_BYTES
    assert (read.edits, read.stale_route) == (whole.edits, whole.stale_route)
    kept = len(read.sections) + len(read.tries)
    assert kept + read.left_out == len(whole.sections) + len(whole.tries)
    assert read.dump() == text


@given(st.lists(st.builds(Section, st.just("Skills"), numbers, numbers), min_size=40, max_size=60))
def test_of_a_prompt_in_many_parts_the_largest_of_the_first_stay(sections: list[Section]) -> None:
    read = Recorded.load(Recorded(tuple(sections)).dump())

    least = min(section.bytes for section in read.sections)
    gone = [section for section in sections[:20] if section not in read.sections]
    assert all(section.bytes <= least for section in gone)


def test_what_is_usual_is_kept_whole() -> None:
    names = (
        "Identity Rules Pack Skills Skill About-the-person Persona-notes Here-and-now State "
        "Memory Tools History Words"
    )
    sections = tuple(Section(name, 12_345, 3_456) for name in names.split())
    tries = tuple(FailedTry(f"openrouter/model-{n}", "openai/gpt", "ProviderBusy") for n in "ab")
    whole = Recorded(sections, ("a" * 24, "b" * 24), tries, 12, True, "2026-03-02T12:00:00.000")

    assert Recorded.load(whole.dump()) == whole
    assert replace(Recorded()).dump() == ""
