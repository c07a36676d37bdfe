"""Says what a turn's tools can do with a file that was sent, judged by its content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from aouo.documents.kinds import may_be_read
from aouo.facts.work import KeptFile
from aouo.guard.paths import holds_a_path
from aouo.tools import files, read_document
from aouo.tools.registry import Tool

Reach: TypeAlias = Literal["opens", "no tool", "no such kind", "too large"]


@dataclass(frozen=True, slots=True)
class Openers:
    """What a turn may open files with: `read_document`, `read_file`, a tool of its pack."""

    documents: bool = False
    text: bool = False
    own: bool = False


def openers_of(allowed: Sequence[Tool], *, off_record: bool) -> Openers:
    """Of the tools that a turn may call; off the record only those that look."""
    names = {item.name for item in allowed}
    return Openers(
        documents="read_document" in names,
        text="read_file" in names,
        own=any(
            any(map(holds_a_path, item.spec().parameters.get("properties", {})))
            for item in allowed
            if item.pack and not (off_record and item.read_only is False)
        ),
    )


def reach_of(file: Path, kept: KeptFile, openers: Openers) -> Reach:
    """Whether one of these tools reads this file; what it is, a pack's own tool knows itself."""
    if openers.own:
        return "opens"
    limits = (
        read_document.MAX_BYTES if openers.documents else 0,
        files.MAX_BYTES if openers.text else 0,
    )
    if not any(limits):
        return "no tool"
    if kept.size_bytes > max(limits):
        return "too large"
    try:
        data = file.read_bytes()
    except OSError:  # gone since; whoever opens it is told so
        return "opens"
    if openers.documents and may_be_read(data, file.name):
        return "opens"
    if not openers.text or files.text_in(data) is None:
        return "no such kind"
    return "opens" if len(data) <= files.MAX_BYTES else "too large"
