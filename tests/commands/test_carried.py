"""What a command leaves to its turn outlives the process. Source: issue 14, Commands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.commands import Carried, PostAction, TurnHints

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
HINTS = st.builds(TurnHints, st.text(), st.text(), st.booleans(), st.booleans())
ACTIONS = st.none() | st.builds(PostAction, st.text(), st.dictionaries(st.text(), VALUES))


@given(st.builds(Carried, HINTS, ACTIONS, st.integers()))
def test_it_comes_back_as_it_was_stored(carried: Carried) -> None:
    assert Carried.load(carried.dump()) == carried


def test_what_an_older_version_stored_is_read() -> None:
    stored = '{"hints": {"said": "buy milk"}, "post_action": {"kind": "note", "arguments": {}}}'

    assert Carried.load(stored) == Carried(TurnHints("buy milk"), PostAction("note"))


@pytest.mark.parametrize("value", [object(), float("nan")])
def test_what_is_no_json_is_not_stored(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        Carried(TurnHints(), PostAction("x", {"value": value})).dump()
