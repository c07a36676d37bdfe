"""Defines a problem of a pack, and the names and versions that a pack may use."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from aouo.packs.format.texts import FieldPath

Severity: TypeAlias = Literal["error", "warning"]
_WORTH = 3
"""Letters that a word has to have for its beginning to say what was meant."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding; `file` is relative to the pack, `line` counts from 1 and 0 is unknown."""

    file: str
    line: int
    field: str
    message: str
    severity: Severity = "error"

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        said = (
            f"{where}: {self.field}: {self.message}" if self.field else f"{where}: {self.message}"
        )
        # It quotes strangers, and is read in terminals, which obey some signs, line by line.
        line = " ".join(said.splitlines())
        return "".join(letter if letter.isprintable() else "?" for letter in line)


Finding: TypeAlias = tuple[FieldPath, str] | tuple[FieldPath, str, Severity]
"""A place of the manifest, what is wrong there, and how bad that is, an error unless it says."""


def errors(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return those that keep a pack from loading."""
    return tuple(problem for problem in problems if problem.severity == "error")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean "x"?` for the nearest known word, or ""; what it begins is nearest."""
    names = sorted(known)
    begins = [name for name in names if len(word) >= _WORTH and name.startswith(word)]
    near = begins or difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    return f'; did you mean "{near[0]}"?' if near else ""


RESERVED_NAMES = frozenset(
    {"aouo", "state", "default", "core", "main", "store", "global", "mcp", "packs", "data", "temp"}
    | {"con", "prn", "aux", "nul"}  # no file can have these names on some machines
)
GROUP_TOOLS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "core": frozenset({"msg", "memory", "skill_view", "clarify", "persist", "db"}),
        "files": frozenset({"read_file", "write_file", "list_dir"}),
        "web": frozenset({"fetch", "web_search"}),
        "documents": frozenset({"read_document"}),
        "voice": frozenset({"tts"}),
        "schedule": frozenset({"cron"}),
        "sessions": frozenset({"sessions"}),
        "pack": frozenset(),
    }
)
"""What a group of `permissions.tools` stands for; `pack` is the pack's own."""
GROUPS = frozenset(GROUP_TOOLS)
PLATFORMS = frozenset({"tg", "cli", "web"})
TOOLS = frozenset(
    {"msg", "skill_view", "memory", "clarify", "persist", "db", "read_file", "write_file"}
    | {"list_dir", "fetch", "web_search", "read_document", "tts", "cron", "sessions", "shell"}
    | {"load_tools", "load_skills"}
)
DEFAULT_TOOLS = ("msg", "memory", "skill_view", "clarify", "persist", "db", "cron", "pack")
"""What a manifest without `permissions.tools` may use; `pack` is its own tools."""


_EXAMPLE = ">=0.1,<2"
_NUMBERS = re.compile(r"([0-9]{1,6})(?:\.([0-9]{1,6}))?(?:\.([0-9]{1,6}))?([-+].*)?", re.ASCII)
_LEADING = re.compile(r"([0-9]{1,18})\.([0-9]{1,18})\.([0-9]{1,18})", re.ASCII)
_CLAUSE = re.compile(r"(>=|<=|==|!=|>|<|=|\^|~)?\s*v?([0-9][^\s,]*)", re.ASCII)

_Numbers: TypeAlias = tuple[int, int, int]


def _numbers(version: str) -> _Numbers:
    """Return the three numbers a version begins with; what is missing is 0.

    Raises:
        ValueError: it does not begin with a number.
    """
    found = _NUMBERS.fullmatch(version.strip())
    if found is None:
        raise ValueError(f"{version[:40]!r} is not a version")
    return int(found[1]), int(found[2] or 0), int(found[3] or 0)


def leading(version: str) -> _Numbers:
    """Return the three numbers that a pack's version begins with, whatever follows."""
    found = _LEADING.match(version.strip())
    return (int(found[1]), int(found[2]), int(found[3])) if found else (0, 0, 0)


def accepts(rule: str, version: str) -> bool:
    """Whether a version fits a rule; `-beta` and the like count as their numbers.

    A rule is `>=0.1, <2`, `^1.2` (the same first number), `~1.2` (the same two) or `1.2.3`.

    Raises:
        ValueError: it is none of these.
    """
    lowest: _Numbers = (0, 0, 0)
    ends: list[_Numbers] = []
    never: set[_Numbers] = set()
    for clause in re.split(r"\s*,\s*|\s+(?=[<>=!^~])", rule.strip()):
        found = _CLAUSE.fullmatch(clause)
        if found is None:
            raise ValueError(f'{rule[:40]!r} is not written like "{_EXAMPLE}"')
        sign, (major, minor, patch) = found[1] or "==", _numbers(found[2])
        here, after = (major, minor, patch), (major, minor, patch + 1)
        if sign in (">=", "==", "=", "^", "~"):
            lowest = max(lowest, here)
        if sign == ">":
            lowest = max(lowest, after)
        if sign == "!=":
            never.add(here)
        ends += {
            "<": [here],
            "<=": [after],
            "==": [after],
            "=": [after],
            "^": [_next_breaking(here)],
            "~": [(major, minor + 1, 0)],
        }.get(sign, [])
    asked = leading(version)
    return lowest <= asked and all(asked < end for end in ends) and asked not in never


def _next_breaking(version: _Numbers) -> _Numbers:
    """The first version that may break what worked; below 1.0 each second number may."""
    major, minor, patch = version
    if major:
        return major + 1, 0, 0
    return (0, minor + 1, 0) if minor else (0, 0, patch + 1)
