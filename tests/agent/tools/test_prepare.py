"""A model's tool call as one value: read once, refused in words that help. Source: issue 13."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.agent.tools.msg import _SPEAKING_S, tts
from aouo.agent.tools.registry import Arguments, Tool, ToolContext, prepare, tool
from aouo.facts.errors import ToolFailed
from aouo.facts.transcript import ToolCall
from aouo.guard.prepared import Blocked, PreparedCall
from aouo.providers.speech.audio import Audio
from aouo.providers.speech.services import Spend, unspent
from tests.agent.tools.calling import call
from tests.fakes.turn_facts import facts_of

NOT_HERE = Blocked("There is no tool 'diary_of_ada' here. Tools: wish.", rule="no such tool")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=8,
)


class Wish(Arguments):
    text: str
    look: bool = False


async def never(wish: Wish, context: ToolContext, call_id: str) -> str:
    raise AssertionError


def wishing(**how: Any) -> Tool:
    return tool("wish", "Wishes.", Wish, never, **how)


def prepared(arguments: str, found: Tool | Blocked, *, off_record: bool = False) -> PreparedCall:
    return prepare(
        ToolCall("c", "wish" if isinstance(found, Tool) else "diary_of_ada", arguments),
        found,
        facts_of(off_record=off_record),
    )


@given(arguments=st.text() | JSON.map(json.dumps))
def test_a_call_has_arguments_or_a_refusal_whatever_the_model_wrote(arguments: str) -> None:
    action = prepared(arguments, wishing())

    assert (action.arguments is None) == (action.refusal is not None) == (action.seal == "")
    assert action.is_intact == (action.refusal is None)


@given(payload=st.dictionaries(st.text(st.characters(codec="utf-8")), JSON))
def test_the_same_call_has_the_same_key_however_it_is_spelled(payload: dict[str, Any]) -> None:
    backwards = dict(reversed(payload.items()))
    spellings = (
        json.dumps(payload),
        json.dumps(backwards, indent=1, ensure_ascii=False),
        json.dumps(payload, separators=(",", ":")),
    )

    assert len({prepared(text, wishing()).key for text in spellings}) == 1


def test_calls_that_cannot_be_read_are_the_same_only_if_they_are_so_to_the_letter() -> None:
    broken, other, empty = (prepared(text, wishing()).key for text in ('{"a', '{"b', "{}"))

    assert len({broken, other, empty}) == 3
    assert prepared('{"a', wishing()).key == broken


def says_look(wish: Wish) -> bool:
    return wish.look


def does_not_look(wish: Wish) -> bool:
    return not wish.look


@pytest.mark.parametrize(
    ("read_only", "mutates", "look", "facts"),
    [
        (True, False, False, (True, False)),
        (False, True, True, (False, True)),
        (False, False, False, (False, False)),
        (True, True, False, (False, True)),
        (says_look, does_not_look, True, (True, False)),
        (True, does_not_look, False, (False, True)),
    ],
)
def test_what_a_call_does_is_known_from_its_very_arguments(
    read_only: bool | Callable[[Wish], bool],
    mutates: bool | Callable[[Wish], bool],
    look: bool,
    facts: tuple[bool, bool],
) -> None:
    """One that waits for a person is neither; one that mutates is never read-only."""
    found = wishing(read_only=read_only, mutates=mutates)
    action = prepared(json.dumps({"text": "x", "look": look}), found)

    assert (action.read_only, action.mutates) == facts


@pytest.mark.parametrize("arguments", ["", "{", '{"look": true}'])
def test_of_a_call_that_is_refused_nothing_is_claimed(arguments: str) -> None:
    action = prepared(arguments, wishing(read_only=True, mutates=True, idempotent=False))

    assert action.refusal is not None
    assert (action.read_only, action.mutates, action.idempotent) == (False, False, False)
    assert (action.labels, action.heard) == ((), None)


def test_off_the_record_only_what_looks_is_called_and_no_made_up_name_is_kept() -> None:
    looks = prepared('{"text": "x"}', wishing(read_only=True), off_record=True)
    changes = prepared('{"text": "x"}', wishing(), off_record=True)
    missing = prepared('{"text": "x"}', NOT_HERE, off_record=True)

    assert looks.refusal is None
    assert changes.refusal is not None
    assert "off the record" in changes.refusal.reason
    assert (missing.refusal, missing.tool) == (NOT_HERE, "unknown")


# `tts` with a voice that takes its time


class Slow:
    """A voice that never comes to an end."""

    async def speak(self, text: str, voice: str = "", *, spend: Spend = unspent) -> Audio:
        await asyncio.Event().wait()
        raise AssertionError


async def test_a_voice_that_is_too_slow_has_said_nothing_and_no_doubt_is_left(
    tmp_path: Path,
) -> None:
    """A tool that is cut off itself "may have arrived"; this one has not."""
    tool = tts(Slow(), lambda _pack, _owner: tmp_path, lambda _folder, _size: None, patience_s=0.01)

    with pytest.raises(ToolFailed, match=r"^Nothing was said: this takes the voice longer than"):
        await call(tool, text="Good morning")


def test_the_time_of_the_tool_leaves_some_for_sending() -> None:
    tool = tts(Slow(), lambda _pack, _owner: Path(), lambda _folder, _size: None)

    assert tool.timeout_s is not None
    assert tool.timeout_s - _SPEAKING_S >= 30
