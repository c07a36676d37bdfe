"""Compares versions of packs and of the runtime with what a pack asks of them: `>=0.1, <2`."""

from __future__ import annotations

import re
from typing import TypeAlias

_EXAMPLE = ">=0.1,<2"
_NUMBERS = re.compile(r"([0-9]{1,6})(?:\.([0-9]{1,6}))?(?:\.([0-9]{1,6}))?([-+].*)?", re.ASCII)
_LEADING = re.compile(r"([0-9]{1,18})\.([0-9]{1,18})\.([0-9]{1,18})", re.ASCII)
_CLAUSE = re.compile(r"(>=|<=|==|!=|>|<|=|\^|~)?\s*v?([0-9][^\s,]*)", re.ASCII)

_Numbers: TypeAlias = tuple[int, int, int]


def numbers(version: str) -> _Numbers:
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
        sign, (major, minor, patch) = found[1] or "==", numbers(found[2])
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
