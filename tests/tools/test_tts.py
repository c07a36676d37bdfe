"""`tts` with a voice that takes its time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from aouo.facts.errors import ToolFailed
from aouo.speech.audio import Audio
from aouo.speech.services import Spend, unspent
from aouo.tools.tts import SPEAKING_S, tts
from tests.tools.calling import call


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
    assert tool.timeout_s - SPEAKING_S >= 30
