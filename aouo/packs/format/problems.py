"""Defines a problem of a pack: what is wrong, and where; one value for each finding."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from aouo.packs.format.yaml_text import FieldPath

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
