"""Holds all installed packs as one frozen value, the library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType

from aouo.facts.errors import ToolFailed
from aouo.packs.format.problems import Problem, did_you_mean
from aouo.packs.format.skills import Skill
from aouo.packs.load import Pack


@dataclass(frozen=True, slots=True)
class Library:
    """What is installed now: the packs that load, and why the others do not.

    `warnings` are the findings that keep nothing from loading, by pack. While the bot runs, a
    linked pack that no longer loads is among both: it goes on as it was.

    The rest follows from `packs`: their sorted `names`, and `workflows`, the qualified names of
    all skills.
    """

    packs: Mapping[str, Pack]
    broken: Mapping[str, tuple[Problem, ...]]
    warnings: Mapping[str, tuple[Problem, ...]]
    names: tuple[str, ...] = field(init=False, compare=False)
    workflows: frozenset[str] = field(init=False, compare=False)
    _commands: Mapping[str, Mapping[str, str]] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        skills = [skill for pack in self.packs.values() for skill in pack.skills.values()]
        object.__setattr__(self, "names", tuple(sorted(self.packs)))
        object.__setattr__(self, "workflows", frozenset(skill.qualified for skill in skills))
        object.__setattr__(self, "_commands", self._commands_by_pack())

    def get(self, name: str) -> Pack | None:
        """Return a pack that loads, or None."""
        return self.packs.get(name)

    def named(self, text: str, language: str = "") -> str:
        """Return the pack that a person means, in any letter case: by its name, or by its shown
        name in their language if only one pack has it; `text` itself if there is none."""
        wanted = text.strip().casefold()
        if text in self.packs or not wanted:
            return text
        if found := next((name for name in self.names if name.casefold() == wanted), ""):
            return found
        called = [
            name
            for name, pack in self.packs.items()
            if wanted
            in {
                pack.manifest.display_name.casefold(),
                pack.said(language, pack.manifest.display_name).casefold(),
            }
        ]
        return called[0] if len(called) == 1 else text

    def resolve_skill(self, pack: str, name: str) -> Skill:
        """Return a skill of `pack` by its bare or its qualified name, whichever letters are large.

        Raises:
            ToolFailed: not a skill of this pack; says which there are.
        """
        skills: Mapping[str, Skill] = self.packs[pack].skills if pack in self.packs else {}
        owner, colon, bare = name.strip().rpartition(":")
        there = ", ".join(skills) or "none"
        if colon and owner.casefold() != pack.casefold():
            raise ToolFailed(
                f"{name!r} belongs to another pack; this conversation is with {pack!r}. "
                f"Skills here: {there}."
            )
        if bare not in skills:
            folded = bare.casefold()
            bare = next((one for one in skills if one.casefold() == folded), bare)
        if bare not in skills:
            hint = did_you_mean(bare, skills)
            raise ToolFailed(f"There is no skill {name!r}{hint}. Skills here: {there}.")
        return skills[bare]

    def commands(self, pack: str = "") -> Mapping[str, str]:
        """Return command name → qualified skill; `pack`'s own come before all others'."""
        return self._commands.get(pack, self._commands[""])

    def _commands_by_pack(self) -> Mapping[str, Mapping[str, str]]:
        """`commands` of each pack, and of none as ""."""
        first: dict[str, str] = {}
        own: dict[str, dict[str, str]] = {"": {}}
        for skill in self._command_skills():
            first.setdefault(skill.command_name, skill.qualified)
            own.setdefault(skill.pack, {}).setdefault(skill.command_name, skill.qualified)
        return {pack: MappingProxyType(first | commands) for pack, commands in own.items()}

    def _command_skills(self) -> Sequence[Skill]:
        """In the order of their packs' names."""
        packs = [self.packs[name] for name in self.names]
        return [skill for pack in packs for skill in pack.skills.values() if skill.command]

    def command_collisions(self) -> tuple[Problem, ...]:
        """Return a warning for each skill whose command name another skill already has."""
        chosen = self.commands()
        return tuple(
            Problem(
                f"skills/{skill.name}/SKILL.md",
                0,
                "command",
                f"/{skill.command_name} runs {chosen[skill.command_name]} outside this pack",
                "warning",
            )
            for skill in self._command_skills()
            if chosen[skill.command_name] != skill.qualified
        )

    def listed(self) -> dict[str, object]:
        """Return the packs and why others do not load, as `aouo pack list --json` says it."""
        return {
            "packs": [
                {
                    "name": name,
                    "display_name": pack.manifest.display_name,
                    "version": pack.manifest.version,
                    "description": pack.manifest.description,
                    "folder": str(pack.folder.resolve()),
                    "skills": list(pack.skills),
                    "warnings": [str(problem) for problem in self.warnings.get(name, ())],
                }
                for name, pack in self.packs.items()
            ],
            "broken": {
                name: [asdict(problem) for problem in problems]
                for name, problems in self.broken.items()
            },
        }


EMPTY = Library(MappingProxyType({}), MappingProxyType({}), MappingProxyType({}))
