"""Compares two texts of a memory file, and applies proposed edits to one: pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

from aouo.facts.errors import ToolFailed
from aouo.facts.records import Basis, Source

_Kind: TypeAlias = Literal["same", "gone", "new", "skipped"]
_Line: TypeAlias = tuple[_Kind, str]
_CONTEXT = 2
"""Lines that stayed and are shown around those that did not."""
_PAIRS_MAX = 100_000
"""Lines times lines; more are shown as all gone and all new."""


def difference(before: str, after: str) -> list[_Line]:
    """Return the lines in the order of the texts; "skipped" says how many stayed there."""
    old, new = before.splitlines(), after.splitlines()
    first = _alike(old, new)
    last = _alike(old[first:][::-1], new[first:][::-1])
    middle = old[first : len(old) - last], new[first : len(new) - last]
    end = old[len(old) - last :]
    return list(_shortened([*_each("same", old[:first]), *_middle(*middle), *_each("same", end)]))


def _each(kind: _Kind, lines: list[str]) -> list[_Line]:
    return [(kind, line) for line in lines]


def _alike(one: list[str], other: list[str]) -> int:
    """How many lines both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))


def _middle(old: list[str], new: list[str]) -> Iterator[_Line]:
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


def _shortened(lines: list[_Line]) -> Iterator[_Line]:
    near = [False] * len(lines)
    for index, (kind, _) in enumerate(lines):
        if kind != "same":
            for other in range(max(0, index - _CONTEXT), min(len(lines), index + _CONTEXT + 1)):
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


_LINE_CHARS = 300


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit: `line` is the number of the line it replaces or drops, from 1; `sources` are the
    lines of the journal that it comes from."""

    do: Literal["add", "replace", "drop"]
    sources: tuple[int, ...]
    line: int = 0
    text: str = ""


def digest(text: str) -> str:
    """Return what tells a text from every other."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def edited(
    text: str,
    edits: Sequence[Edit],
    journal: Mapping[int, Basis],
    inferred: Set[str],
    append: Callable[[str, str], str],
) -> tuple[str, tuple[Source, ...]]:
    """Apply all edits to a file's text, or none; return the new text, and where its new lines come
    from.

    A new line was said if one of its sources was, else it is inferred. Only an `inferred` line may
    give way to what is inferred; whatever else stands there was said, or written by a person.
    `append` adds a line to a text.

    Raises:
        ToolFailed: names everything that is wrong with them.
    """
    lines = text.splitlines()
    wrong = [
        f"edit {number}: {problem}."
        for number, edit in enumerate(edits, start=1)
        if (problem := _problem(edit, lines, journal, inferred))
    ]
    touched = [edit.line for edit in edits if edit.do != "add"]
    if len(set(touched)) < len(touched):
        wrong.append("A line may be edited once only.")
    if wrong:
        raise ToolFailed(" ".join(wrong) + " Nothing was changed.")
    new: dict[int, str | None] = {
        edit.line: _line(edit) if edit.do == "replace" else None
        for edit in edits
        if edit.do != "add"
    }
    kept = [new.get(number, line) for number, line in enumerate(lines, start=1)]
    after = "".join(f"{line}\n" for line in kept if line is not None) if new else text
    for edit in edits:
        if edit.do == "add" and _line(edit) not in after.splitlines():
            after = append(after, _line(edit))
    sources = [
        Source(_line(edit), _basis(edit, journal), edit.sources)
        for edit in edits
        if edit.do != "drop"
    ]
    return after, tuple(sources)


def _line(edit: Edit) -> str:
    return f"- {' '.join(edit.text.split()).lstrip('-* ')}"


def _basis(edit: Edit, journal: Mapping[int, Basis]) -> Basis:
    return "said" if any(journal.get(one) == "said" for one in edit.sources) else "inferred"


def _problem(
    edit: Edit, lines: Sequence[str], journal: Mapping[int, Basis], inferred: Set[str]
) -> str:
    """What is wrong with one edit, "" = nothing."""
    if not edit.sources or not set(edit.sources) <= journal.keys():
        return "its sources have to be numbers of the journal's lines above"
    if edit.do != "drop" and not 2 < len(_line(edit)) <= _LINE_CHARS:
        return f"its text has to be one line of up to {_LINE_CHARS} characters"
    if edit.do == "add":
        return ""
    there = lines[edit.line - 1].strip() if 0 < edit.line <= len(lines) else ""
    if not there or there.startswith("#"):
        return f"there is no note in line {edit.line}"
    if _basis(edit, journal) == "inferred" and there not in inferred:
        return f"line {edit.line} was said, so nothing that is only inferred may change it"
    return ""
