"""Defines what a decision knows of this installation: its packs and their skills."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from aouo.facts.commands import Takes


@dataclass(frozen=True, slots=True)
class Installed:
    """What a decision knows of this installation.

    `skills` maps the command of a skill to its qualified name; `workflows` are the qualified
    names of all skills; `commands` maps a command that the owner added to what it takes.
    """

    packs: tuple[str, ...] = ()
    skills: Mapping[str, str] = field(default_factory=dict[str, str])
    workflows: frozenset[str] = frozenset()
    commands: Mapping[str, Takes] = field(default_factory=dict[str, Takes])

    def named(self, title: str) -> str:
        """The pack that a topic's title names, "" = none."""
        return pack_of(title, self.packs)

    def workflow(self, name: str, active_pack: str) -> str:
        """Return the qualified name of the skill that a button names, "" = none.

        The active pack's skill comes first; a bare name means another pack's skill only if no
        pack is active and exactly one has it.
        """
        if active_pack and f"{active_pack}:{name}" in self.workflows:
            return f"{active_pack}:{name}"
        if name in self.workflows:
            return name
        found = [f"{pack}:{name}" for pack in self.packs if f"{pack}:{name}" in self.workflows]
        return found[0] if len(found) == 1 and not active_pack else ""


def pack_of(title: str, packs: Iterable[str]) -> str:
    """The pack that a topic's title names, "" = none."""
    wanted = title.strip().casefold()
    return next((pack for pack in packs if pack.casefold() == wanted), "")
