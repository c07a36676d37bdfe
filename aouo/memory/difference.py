"""Compares two texts of a memory file, line by line. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["same", "gone", "new", "skipped"]
Line: TypeAlias = tuple[Kind, str]
CONTEXT = 2
"""Lines that stayed and are shown around those that did not."""
_PAIRS_MAX = 100_000
"""Lines times lines; more are shown as all gone and all new."""


def difference(before: str, after: str) -> list[Line]:
    """Return the lines in the order of the texts; "skipped" says how many stayed there."""
    old, new = before.splitlines(), after.splitlines()
    first = _alike(old, new)
    last = _alike(old[first:][::-1], new[first:][::-1])
    middle = old[first : len(old) - last], new[first : len(new) - last]
    end = old[len(old) - last :]
    return list(_shortened([*_each("same", old[:first]), *_middle(*middle), *_each("same", end)]))


def _each(kind: Kind, lines: list[str]) -> list[Line]:
    return [(kind, line) for line in lines]


def _alike(one: list[str], other: list[str]) -> int:
    """How many lines both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))


def _middle(old: list[str], new: list[str]) -> Iterator[Line]:
    if len(old) * len(new) > _PAIRS_MAX:
        blocks = [("replace", 0, len(old), 0, len(new))]
    else:
        blocks = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for kind, a, b, c, d in blocks:
        if kind == "equal":
            yield from _each("same", old[a:b])
        else:
            yield from _each("gone", old[a:b])
            yield from _each("new", new[c:d])


def _shortened(lines: list[Line]) -> Iterator[Line]:
    near = [False] * len(lines)
    for index, (kind, _) in enumerate(lines):
        if kind != "same":
            for other in range(max(0, index - CONTEXT), min(len(lines), index + CONTEXT + 1)):
                near[other] = True
    skipped = 0
    for line, is_near in zip(lines, near, strict=True):
        if is_near:
            if skipped:
                yield "skipped", str(skipped)
            skipped = 0
            yield line
        else:
            skipped += 1
    if skipped:
        yield "skipped", str(skipped)
