"""Addresses and lanes. Source: design ("What may not wait behind a running turn …")."""

from __future__ import annotations

import pytest

from aouo.facts.address import ConversationAddress

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
