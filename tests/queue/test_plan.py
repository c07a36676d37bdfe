"""How a turn is run follows from its origin, its channel and what came in. Pure."""

from __future__ import annotations

from typing import get_args

import pytest

from aouo.facts.events import Attached, Attachment, Command, Content, Hints, Origin, Text, Triggered
from aouo.facts.people import (
    CONSOLIDATE_TOOLS,
    JOURNAL_TOOLS,
    PROFILES,
    TRIGGERS,
    Goes,
    SessionMode,
)
from aouo.queue.plan import plan

ORIGINS: tuple[Origin, ...] = get_args(Origin)
WORDS = Text("hello")
RUN = Triggered("s_1", "Water", "Water the plants?", pack="notes", timeout_s=600, tokens_max=4000)


def of(origin: Origin) -> Content:
    return WORDS if PROFILES[origin].mode == "current" else RUN


def test_each_origin_has_a_plan() -> None:
    assert set(PROFILES) == set(ORIGINS)


@pytest.mark.parametrize(
    ("origin", "mode", "goes"),
    [
        ("chat", "current", "here"),
        ("web", "current", "here"),
        ("cli", "current", "here"),
        ("api", "isolated", "nowhere"),
        ("command", "isolated", "report"),
        ("cron", "isolated", "report"),
        ("heartbeat", "isolated", "report"),
        ("watch", "isolated", "report"),
        ("journal", "isolated", "nowhere"),
        ("consolidate", "isolated", "nowhere"),
    ],
)
def test_the_origin_decides_the_session_and_where_the_answer_goes(
    origin: Origin, mode: SessionMode, goes: Goes
) -> None:
    planned = plan(origin, of(origin), streams=True)

    assert (planned.mode, planned.goes) == (mode, goes)


@pytest.mark.parametrize("origin", ORIGINS)
def test_only_a_channel_that_can_show_an_answer_grow_is_streamed_to(origin: Origin) -> None:
    begun_by_person = PROFILES[origin].mode == "current"

    assert plan(origin, of(origin), streams=True).stream == begun_by_person
    assert not plan(origin, of(origin), streams=False).stream


@pytest.mark.parametrize("origin", TRIGGERS)
def test_what_nobody_sits_at_may_ask_nobody(origin: Origin) -> None:
    planned = plan(origin, RUN, streams=True)

    assert planned.tools is not None or "clarify" in planned.without


def test_the_journal_and_the_consolidation_have_exactly_their_tools() -> None:
    assert plan("journal", RUN, streams=True).tools == JOURNAL_TOOLS
    assert plan("consolidate", RUN, streams=True).tools == CONSOLIDATE_TOOLS
    assert plan("cron", RUN, streams=True).tools is None


def test_a_run_brings_its_own_limits_and_a_message_has_those_of_any_turn() -> None:
    run, message = plan("cron", RUN, streams=True), plan("chat", WORDS, streams=True)

    assert (run.timeout_s, run.tokens_max) == (600, 4000)
    assert (message.timeout_s, message.tokens_max) == (0, 0)


@pytest.mark.parametrize(
    ("content", "hints", "name"),
    [
        (WORDS, Hints(message_id=7), ""),
        (Command("new", "", "/new"), Hints(builtin_command="new", message_id=7), "new"),
        (
            Command("study", "ten words", "/study ten words"),
            Hints(slash_command="study", slash_args="ten words", message_id=7),
            "study",
        ),
        (RUN, Hints(force_sync=True), ""),
    ],
)
def test_the_hints_say_which_command_and_message_began_a_turn(
    content: Content, hints: Hints, name: str
) -> None:
    """Source: seed, "Classification"."""
    planned = plan("chat", content, streams=True, message_id=7)

    assert (planned.hints, planned.slash_name) == (hints, name)


def test_a_command_under_a_picture_is_one_too() -> None:
    photo = Attachment("photo", "f_1", "u_1")
    content = Attached(photo, command=Command("study", "this", "/study this"))

    assert plan("chat", content, streams=True).slash_name == "study"
