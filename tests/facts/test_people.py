"""Who the owner is, wherever that is asked, and who is let in."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound, Person, Text
from aouo.facts.people import Admission, Owner
from aouo.facts.records import _MOST_BYTES, FailedTry, Recorded, Section

ADA, GROUP = ConversationAddress("tg", "7"), ConversationAddress("tg", "-100")
TERMINAL = ConversationAddress("cli", "local")


def said(address: ConversationAddress, person: str) -> Inbound:
    return Inbound(
        address, Person(person), Text("hello"), origin="cli" if address == TERMINAL else "chat"
    )


@pytest.mark.parametrize(
    ("owner", "address", "person", "is_owner"),
    [
        (Owner.of(7), ADA, "7", True),
        (Owner.of(7), GROUP, "7", True),
        (Owner.of(7), GROUP, "8", False),
        (Owner.of(7), TERMINAL, "owner", True),
        (Owner.of(0), TERMINAL, "owner", True),
        (Owner.of(0), GROUP, "0", False),  # a sender whom Telegram does not name
        (Owner.of(0), GROUP, "", False),
    ],
)
def test_the_owner_is_one_person_and_whoever_sits_at_the_terminal(
    owner: Owner, address: ConversationAddress, person: str, *, is_owner: bool
) -> None:
    assert owner.is_owner(said(address, person)) == is_owner


@pytest.mark.parametrize(
    ("owner", "here", "apart"),
    [
        (Owner.of(7), GROUP, ADA),
        (Owner.of(7), ADA, None),
        (Owner.of(7), TERMINAL, None),
        (Owner.of(0), GROUP, None),
    ],
)
def test_the_owner_is_asked_in_their_private_chat_unless_that_is_here(
    owner: Owner, here: ConversationAddress, apart: ConversationAddress | None
) -> None:
    assert owner.chat_apart(here) == apart


def test_without_anybody_on_telegram_the_terminals_data_is_the_owners() -> None:
    assert (Owner.of(7).data_name, Owner.of(0).data_name) == ("tg_7", "cli_owner")
    assert (Owner.of(7).chat, Owner.of(0).chat) == (ADA, None)


def test_nobody_is_let_in_by_an_empty_list_or_without_a_name() -> None:
    assert [Admission((7,)).admits(person) for person in (7, 8, None)] == [True, False, False]
    assert not Admission().admits(0)


# What a turn records of itself is small, whatever happened in it. Source: issue 15, "Turns"


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

    assert len(text.encode()) <= _MOST_BYTES
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
