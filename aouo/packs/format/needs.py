"""Finds the skills that can work here, and the owner's versions of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aouo.packs.format.folder import NotInside, read_inside
from aouo.packs.format.manifest import Manifest
from aouo.packs.format.problems import GROUP_TOOLS, TOOLS, Problem, Severity, did_you_mean, errors
from aouo.packs.format.skills import FILE, MAX_BYTES, Skill, parse_skill

_INHERITED = {"description", "pack"}
"""What an override may leave out, and what is judged here."""


def with_overrides(
    skills: Mapping[str, Skill], overrides: Path
) -> tuple[dict[str, Skill], tuple[Problem, ...]]:
    """Put the owner's version in place of a pack's skill.

    `<overrides>/<pack>/<name>/SKILL.md` is for one pack, and so is `<overrides>/<name>/SKILL.md`
    whose front matter names a `pack`. What it leaves out (description, command, …) stays the
    pack's. A broken one is reported and not used.
    """
    result, problems = dict(skills), list[Problem]()
    for name, skill in skills.items():
        for place in (f"{skill.pack}/{name}", name):
            own, found = _version(skill, overrides, place)
            problems += found
            if own is not None:
                result[name] = own
                break
    return result, tuple(problems)


def _version(skill: Skill, overrides: Path, place: str) -> tuple[Skill | None, tuple[Problem, ...]]:
    """The owner's version in one place (None: there is none for this skill), and its problems."""
    folder = overrides / place
    if not os.path.lexists(folder / FILE):
        return None, ()
    file = str(folder / FILE)
    try:
        text = read_inside(overrides, f"{place}/{FILE}", max_bytes=MAX_BYTES)
    except (NotInside, FileNotFoundError) as error:
        return None, (Problem(file, 0, "", str(error), "warning"),)
    own, header, problems = parse_skill(text, skill.pack, folder, file=file)
    found = tuple(
        replace(problem, severity="warning")
        for problem in problems
        if problem.field not in _INHERITED
    )
    if errors(problems):
        return None, found
    named = header.values.get("pack")
    if named in (None, skill.pack):
        anybodys = named is None and place == skill.name
        return _merged(own, skill, frozenset(header.values), anybodys=anybodys), found
    if not isinstance(named, str):
        message = "must be the name of one pack, so it is not used"
        return None, (*found, Problem(file, 0, "pack", message, "warning"))
    if place == skill.name:
        return None, ()  # another pack's
    message = f'lies in the folder of "{skill.pack}" and names "{named}", so it is not used'
    return None, (*found, Problem(file, 0, "pack", message, "warning"))


def _merged(own: Skill, packs: Skill, stated: frozenset[str], *, anybodys: bool) -> Skill:
    names = {"name", "display_name"} & stated
    return replace(
        own,
        command=own.command if "command" in stated else packs.command,
        description=own.description if "description" in stated else packs.description,
        display_name=own.display_name if names else packs.display_name,
        triggers=own.triggers if "triggers" in stated else packs.triggers,
        requires=own.requires if "requires" in stated else packs.requires,
        fallback=own.fallback if "fallback" in stated else packs.fallback,
        original=packs,
        anybodys=anybodys,
    )


@dataclass(frozen=True, slots=True)
class Allowance:
    """The tools of a pack: what its manifest permits and the owner has `enabled` (() = all).

    `own` are the names of the tools that were found in its folder.
    """

    manifest: Manifest
    enabled: Sequence[str] = ()
    own: Sequence[str] = ()

    def has(self, word: str) -> bool:
        """Whether a tool or a group of that name may be used."""
        permitted = self.manifest.permissions.tools
        return self._listed(word, permitted) and (
            not (self.enabled and self._is_ours(word)) or self._listed(word, self.enabled)
        )

    def _is_ours(self, word: str) -> bool:
        """The owner's list is about ours; a pack's own came with it, a server's were set up."""
        return word in TOOLS or (word in GROUP_TOOLS and word != "pack")

    def knows(self, word: str) -> bool:
        """Whether there is a tool or a group of that name, allowed or not."""
        outside = word.startswith(("mcp:", "mcp__"))
        return outside or word in TOOLS or word in GROUP_TOOLS or word in self.own_names

    @property
    def own_names(self) -> frozenset[str]:
        """The pack's own tools, as `convert` and as `shopping__convert`."""
        manifest = self.manifest
        tools = (*manifest.custom_tools, *manifest.runtime.external_tools)
        bare = {tool.name for tool in tools} | set(self.own)
        return frozenset(bare | {f"{manifest.name}__{name}" for name in bare})

    def _listed(self, word: str, names: Sequence[str]) -> bool:
        if word in names:
            return True
        groups = [group for group, tools in GROUP_TOOLS.items() if word in tools]
        if word.startswith("mcp__"):
            groups.append(f"mcp:{word.split('__')[1]}")
        if word in self.own_names:
            groups += ["pack", f"{self.manifest.name}__{word}"]
        return any(group in names for group in groups)


def fitted(skills: Mapping[str, Skill], allowance: Allowance) -> dict[str, Skill]:
    """Return the skills that can work; one that cannot is its fallback, or is left out.

    What takes a skill's place keeps its name and its command.
    """
    able = dict(skills)
    while gone := [
        name for name, skill in able.items() if _stopped(skill, skills, able, allowance)
    ]:
        for name in gone:
            del able[name]
    found: dict[str, Skill] = {}
    for name, skill in skills.items():
        instead = None if name in able else _instead(skill, skills, able)
        if name in able:
            found[name] = able[name]
        elif instead:
            found[name] = replace(instead, name=name, command=skill.command)
    return found


def _stopped(
    skill: Skill, skills: Mapping[str, Skill], able: Mapping[str, Skill], allowance: Allowance
) -> bool:
    """Whether a known name that a skill requires is missing; other runtimes' tools are ignored."""
    return any(
        allowance.knows(word) or _bare(word) in skills for word in _missing(skill, able, allowance)
    )


def _missing(skill: Skill, skills: Mapping[str, Skill], allowance: Allowance) -> tuple[str, ...]:
    """Return what a skill requires and does not find: tools, groups or skills of its pack."""
    return tuple(
        word for word in skill.requires if not allowance.has(word) and _bare(word) not in skills
    )


def problems(
    skills: Mapping[str, Skill], allowance: Allowance, severity: Severity
) -> Iterator[Problem]:
    """Yield what an author got wrong, whatever the owner has switched off."""
    for skill in skills.values():
        file = f"skills/{skill.name}/{FILE}"
        fallback = _bare(skill.fallback)
        if fallback and (fallback not in skills or fallback == skill.name):
            hint = did_you_mean(fallback, set(skills) - {skill.name})
            message = f'there is no skill "{skill.fallback}"{hint} to fall back to'
            yield Problem(file, 0, "fallback", message, severity)
        for word in _missing(skill, skills, allowance):
            if not allowance.knows(word):
                hint = did_you_mean(word, TOOLS | allowance.own_names | set(skills))
                message = f'no tool or skill is named "{word}"{hint}'
                yield Problem(file, 0, "requires", message, severity)
            elif fallback not in skills:
                message = f'needs "{word}": add it to permissions.tools, or name a fallback'
                yield Problem(file, 0, "requires", f"{message}; until then it is hidden", severity)


def _instead(skill: Skill, skills: Mapping[str, Skill], able: Mapping[str, Skill]) -> Skill | None:
    """Follow the fallbacks to the first that can work; None = there is none."""
    seen: set[str] = set()
    while skill.name not in seen:
        seen.add(skill.name)
        name = _bare(skill.fallback)
        if name in able:
            return able[name]
        if name not in skills:
            return None
        skill = skills[name]
    return None


def _bare(name: str) -> str:
    return name.rpartition(":")[2]
