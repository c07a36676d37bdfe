"""Reads the owner's versions of skills, at `<pack>/<skill>/SKILL.md` or `<skill>/SKILL.md`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from aouo.packs.format.inside import NotInside, read_inside
from aouo.packs.format.problems import Problem, errors
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
