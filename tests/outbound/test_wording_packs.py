"""Permission cards: what a person reads before they say yes. Source: issue 5 "Lifecycle"."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.outbound.render import render
from aouo.outbound.wording_packs import code, install_card, plain
from aouo.packs.compare import compare
from aouo.packs.manifest import Budget
from aouo.packs.schema import Column
from aouo.packs.signing import Signature
from aouo.packs.summary import PackTool, Planned, Summary

ID = Column("id", "INTEGER", False, None, 1)
WORD = Column("word", "TEXT", True, None, 0)
PLAIN = Summary(
    name="vocab",
    version="1.0.0",
    display_name="Vocab",
    description="Learns words with you",
    content="0123456789abcdef" * 4,
    files=12,
    size_bytes=34_500,
    signature=Signature(),
    tools=("core", "pack"),
    pack_tools=(),
    network=(),
    file_paths=(),
    external_commands=(),
    platforms=(),
    may_schedule=False,
    schedules=(),
    scope="person",
    tables={"words": (ID, WORD)},
    migrations=(),
    memory=(),
    skills=("study", "add"),
    commands=("study",),
    prompt_bytes=700,
    budget=Budget(),
    requires_core="",
    depends_on=(),
)
WIDE = replace(
    PLAIN,
    version="1.1.0",
    tools=("core", "web", "shell", "mcp:mail", "pack"),
    network=("api.example.org",),
    file_paths=("~/books",),
    external_commands=("count",),
    pack_tools=(PackTool("count", "wc -w", "command"),),
    may_schedule=True,
    schedules=(
        Planned("daily", "0 8 * * *", "study", True),
        Planned("rare", "every 2d", "add", False),
    ),
    scope="shared",
    tables={"words": (ID,), "more": (ID,)},
    memory=("SOUL.md",),
    skills=("study", "quiz"),
    prompt_bytes=2048,
    budget=Budget(daily_usd=0.5),
    requires_core=">=0.1",
    depends_on=("notes >=1",),
    signature=Signature("valid", "AB", "1.1.0", "RWQkey", "Ada"),
)


def shown(markdown: str) -> str:
    """What is read once the marks are gone."""
    return "\n".join(page.text for page in render(markdown))


def test_a_small_app_has_a_small_card():
    assert (
        shown(install_card(PLAIN, compare(None, PLAIN)))
        == """\
Install Vocab (vocab) 1.0.0?
Learns words with you

It may
"""
    )


def test_a_wide_app_says_all_of_it():
    assert shown(install_card(WIDE, compare(None, WIDE))) == ""


def test_an_upgrade_says_what_needs_a_yes_what_differs_and_what_goes():
    assert shown(install_card(WIDE, compare(PLAIN, WIDE))) == ""


def test_an_upgrade_that_asks_nothing_says_so():
    newer = replace(PLAIN, version="1.0.1", prompt_bytes=800)

    assert shown(install_card(newer, compare(PLAIN, newer))) == ""


def test_an_installed_app_is_not_asked_about():
    assert shown(install_card(PLAIN)).splitlines()[0] == "Vocab (vocab) 1.0.0"
