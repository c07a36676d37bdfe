"""Makes the lines of a permission card as values; `words/packs.py` words them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from aouo.packs.compare import Change, Difference, Topic, budget_changes
from aouo.packs.format.manifest import Budget
from aouo.packs.summary import Planned, Summary, Watched

_BEHIND = frozenset({"onboarding", "aggregator"})
"""Skills that nobody asks for: the first conversation, and the one that only a schedule starts."""
FILES = frozenset({"programs", "soul", "skill_texts"})
"""Topics whose changes are files, told in one line, whether new, changed or gone."""
Part: TypeAlias = Literal["may", "brings", "asks", "changes", "gone"]
"""Where a line stands: what an app may do, what it brings; of an upgrade: what needs a yes, what
is different and needs none, what it gives up."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line: what it is about, and the names in it; `changes` where something is different."""

    part: Part
    topic: Topic
    items: tuple[str, ...] = ()
    schedules: tuple[Planned, ...] = ()
    changes: tuple[Change, ...] = ()
    watches: tuple[Watched, ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """All lines about one app; `before` is the installed version, "" = none.

    `signer_changed`, `older`, `elsewhere` and `finds_data` are those of `compare.Difference`.
    """

    new: Summary
    before: str
    lines: tuple[Line, ...]
    needs_consent: bool
    signer_changed: bool
    migrates: bool
    older: bool = False
    elsewhere: bool = False
    finds_data: bool = False

    def of(self, part: Part) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.part == part)


def card(summary: Summary, difference: Difference | None = None) -> Card:
    """The card of an app, or that of its upgrade where `difference` has an older version."""
    old = difference.old if difference else None
    if difference is None or old is None:
        lines = (*_may(summary), *_brings(summary))
        found = difference is not None and difference.finds_data
        return Card(summary, "", lines, difference is not None, False, False, finds_data=found)
    return Card(
        summary,
        old.version,
        (*_differing(difference),),
        difference.needs_consent,
        difference.signer_changed,
        not set(summary.migrations) <= set(old.migrations),
        difference.older,
        difference.elsewhere,
    )


def _may(summary: Summary) -> Iterator[Line]:
    """What bounds an app, in the order of what a person would look for first."""
    if "shell" in summary.tools:
        yield Line("may", "tools", ("shell",))
    lists: tuple[tuple[Topic, tuple[str, ...]], ...] = (
        ("external_commands", summary.external_commands),
        ("file_paths", summary.file_paths),
        ("network", summary.network),
        ("pack_tools", tuple(tool.name for tool in summary.pack_tools)),
    )
    for topic, items in lists:
        if items:
            yield Line("may", topic, items)
    if summary.may_schedule:
        plans = tuple(replace(job, skill=_title(summary, job.skill)) for job in summary.schedules)
        yield Line("may", "may_schedule", schedules=plans)
        if summary.watches:
            yield Line("may", "watches", watches=summary.watches)
    if summary.tables:
        yield Line("may", "scope", (summary.scope, *summary.tables))
    yield from _harmless(summary)


def _harmless(summary: Summary) -> Iterator[Line]:
    """What every app can do, and what narrows it."""
    rest = tuple(name for name in summary.tools if name != "shell")
    if rest or not summary.tools:
        yield Line("may", "tools", rest)
    if summary.platforms:
        yield Line("may", "platforms", summary.platforms)


def _brings(summary: Summary) -> Iterator[Line]:
    skills = tuple(name for name in summary.skills if name not in _BEHIND)
    if skills:
        yield Line("brings", "skills", tuple(_title(summary, name) for name in skills))
    if summary.commands:
        yield Line("brings", "commands", summary.commands)
    if summary.memory:
        yield Line("brings", "memory", summary.memory)
    yield Line("brings", "prompt", (str(summary.prompt_bytes),))
    ceilings = tuple(budget_changes(Budget(), summary.budget))
    if ceilings:
        yield Line("brings", "budget", changes=ceilings)
    if summary.depends_on:
        yield Line("brings", "depends_on", summary.depends_on)
    if summary.requires_core:
        yield Line("brings", "requires_core", (summary.requires_core,))


def _differing(difference: Difference) -> Iterator[Line]:
    parts: dict[tuple[Part, Topic], list[Change]] = {}
    for change in difference.changes:
        if change.topic == "size":  # it stands below the card
            continue
        part: Part = "asks" if change.asks else "changes"
        if change.kind == "removed" and change.topic not in FILES:
            part = "gone"
        if change.topic == "skills":
            if change.item in _BEHIND:
                continue
            summary = difference.old if part == "gone" else difference.new
            change = replace(change, item=_title(summary or difference.new, change.item))
        parts.setdefault((part, change.topic), []).append(change)
    for (part, topic), changes in parts.items():
        yield Line(part, topic, tuple(one.item for one in changes), (), tuple(changes))


def _title(summary: Summary, skill: str) -> str:
    """How people read a skill's name, which a schedule may write with its pack's before it."""
    return summary.titles.get(skill.removeprefix(f"{summary.name}:"), skill)
