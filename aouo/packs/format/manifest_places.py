"""Finds the lines of a `pack.yml`'s fields, also of those that had to be left out."""

from __future__ import annotations

import bisect
import re
from dataclasses import replace

from aouo.packs.format.manifest import FILE, Manifest
from aouo.packs.format.problems import Problem, Severity
from aouo.packs.format.yaml_text import FieldPath, YamlMapping, field_name

WRITTEN_SHORT = {"provided_skills": "skills", "cron_defaults": "cron"}


class Parsed:
    """What a manifest says (None: it cannot be used), every problem in it, and its lines.

    `draft` is what could be read of it, for finding problems in the other files too; `unread` are
    the places whose value could not be taken. `of_original`: it was written for the original.
    """

    def __init__(self, document: YamlMapping | None) -> None:
        """None: it could not be read at all."""
        self.manifest: Manifest | None = None
        self.draft: Manifest | None = None
        self.of_original = False
        faults = document.faults if document else ()
        self.problems = tuple(Problem(FILE, one.line, one.field, one.message) for one in faults)
        self.unread: set[FieldPath] = set(document.lost) if document else {()}
        self._document = document or YamlMapping({}, {})
        self._gone: dict[FieldPath, list[int]] = {}

    def add(self, path: FieldPath, message: str, severity: Severity = "error") -> None:
        """Report a finding, unless the value at `path` is one that we put there."""
        written = self.as_written(path)
        if not self.is_unread(written):
            line = self.line_of(written) or 1
            found = Problem(FILE, line, field_name(written), message, severity)
            self.problems = (*self.problems, found)

    def leave_out(self, path: FieldPath, index: int) -> None:
        """Note that an item of the list at `path` is gone; its index is the one of the moment."""
        *around, written = self.as_written((*path, index))
        assert isinstance(written, int)
        bisect.insort(self._gone.setdefault(tuple(around), []), written)

    def as_written(self, path: FieldPath) -> FieldPath:
        """Return where the author has what is at `path` now."""
        found: FieldPath = ()
        for part in path:
            if isinstance(part, int):
                for gone in self._gone.get(found, ()):
                    part += gone <= part
            found = (*found, part)
        return found

    def is_unread(self, written: FieldPath) -> bool:
        """Whether the value there, or one around it, is not the author's."""
        return any(written[: len(path)] == path for path in self.unread)

    def sure(self, *path: str) -> bool:
        """Whether what is there is the author's, but for single items of a list."""
        return not self.is_unread(path)

    def line_of(self, written: FieldPath) -> int:
        """Return the line of a place, or of what is around it, or 0."""
        short = WRITTEN_SHORT.get(str(written[0])) if written else None
        if short and written[:1] not in self._document.lines:
            written = (short, *written[1:])
        return self._document.line_of(written)

    def placed(self, problem: Problem) -> Problem | None:
        """Give a later finding its line; None = it is about a value that is not the author's."""
        written = self.as_written(_path_of(problem.field))
        if self.is_unread(written):
            return None
        line = problem.line or self.line_of(written)
        return replace(problem, line=line, field=field_name(written))


def _path_of(field: str) -> FieldPath:
    """Read `cron_defaults[0].skill` as `field_name` writes it."""
    parts = re.findall(r"[^.\[\]]+|(?<=\[)[0-9]+(?=\])", field)
    return tuple(int(part) if part.isdigit() else part for part in parts)
