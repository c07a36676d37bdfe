"""Ids sort in the order they were made. Source: github.com/ulid/spec, "Monotonicity"."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.address import ConversationAddress, Platform
from aouo.facts.ids import SessionId, SessionKind, ulid

KINDS = st.sampled_from(get_args(SessionKind))
ADDRESSES = st.builds(
    ConversationAddress,
    st.sampled_from(get_args(Platform)),
    st.text(min_size=1, max_size=20),
    st.text(max_size=10),
    st.text(max_size=10),
)


def test_ids_sort_in_the_order_they_were_made_within_a_millisecond_too() -> None:
    made = [ulid() for _ in range(5_000)]

    assert made == sorted(set(made))
    assert {len(one) for one in made} == {26}


def test_two_threads_never_make_the_same_id() -> None:
    with ThreadPoolExecutor(4) as threads:
        made = [each.result() for each in [threads.submit(ulid) for _ in range(5_000)]]

    assert len(set(made)) == 5_000


@given(KINDS, ADDRESSES)
def test_a_session_id_of_any_kind_reads_back_after_a_hundred_rotations(
    kind: SessionKind, address: ConversationAddress
) -> None:
    """Whatever a platform calls its chats, and slashes are in it. Source: reference C7, 4."""
    first = SessionId.new(kind, str(address))
    seen, now = {str(first)}, first
    for _ in range(100):
        now = SessionId.parse(str(SessionId.new(now.kind, now.conversation)))
        assert (now.kind, now.conversation) == (kind, str(address))
        seen.add(str(now))

    assert len(seen) == 101
    assert {len(one) for one in seen} == {len(str(first))}


@given(st.text(max_size=80))
def test_what_is_no_session_id_is_refused_or_reads_back(text: str) -> None:
    try:
        found = SessionId.parse(text)
    except ValueError:
        return
    assert str(found) == text


@pytest.mark.parametrize("text", ["", "chat", "chat/tg:1", "chat//" + "0" * 26, "cats/tg:1/x"])
def test_half_a_session_id_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="not a session id"):
        SessionId.parse(text)


# Addresses and lanes. Source: design ("What may not wait behind a running turn …")


PLACES = [
    ConversationAddress("tg", "-5"),
    ConversationAddress("tg", "-5", "7"),
    ConversationAddress("cli", "-5"),
    ConversationAddress("web", "-5", "7"),
]


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_conversations_lane_bypasses_none_and_those_beside_it_do(
    place: ConversationAddress,
) -> None:
    lane, *beside = place.lane.family

    assert lane == place.lane
    assert not lane.bypasses
    assert beside == [lane.bypass, lane.refusals]
    assert all(one.bypasses for one in beside)


def test_no_two_lanes_are_called_the_same() -> None:
    lanes = [lane for place in PLACES for lane in place.lane.family]

    assert len(set(lanes)) == len(lanes)
