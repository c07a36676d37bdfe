"""Says what a turn's tools can do with a file that was sent, judged by its content."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from aouo.documents.kinds import may_be_read
from aouo.facts.work import KeptFile
from aouo.guard.paths import holds_a_path
from aouo.guard.sent_files import READERS
from aouo.tools import files, read_document
from aouo.tools.registry import Tool

Reach: TypeAlias = Literal["opens", "no tool", "no such kind", "too large"]


def openers_of(allowed: Sequence[Tool], *, off_record: bool) -> Sequence[Tool]:
    """Return those of the tools that a turn may call that open files: `read_document`, `read_file`
    and tools of its pack, off the record only those that look."""
    return [
        item
        for item in allowed
        if item.name in READERS
        or (
            item.pack
            and any(map(holds_a_path, item.spec().parameters.get("properties", {})))
            and not (off_record and item.read_only is False)
        )
    ]


def reach_of(file: Path, kept: KeptFile, openers: Sequence[Tool]) -> Reach:
    """Whether one of these tools reads this file; what it is, a pack's own tool knows itself."""
    if any(item.pack for item in openers):
        return "opens"
    names = {item.name for item in openers}
    documents, text = "read_document" in names, "read_file" in names
    limits = (read_document.MAX_BYTES if documents else 0, files.MAX_BYTES if text else 0)
    if not any(limits):
        return "no tool"
    if kept.size_bytes > max(limits):
        return "too large"
    try:
        data = file.read_bytes()
    except OSError:  # gone since; whoever opens it is told so
        return "opens"
    if documents and may_be_read(data, file.name):
        return "opens"
    if not text or files.text_in(data) is None:
        return "no such kind"
    return "opens" if len(data) <= files.MAX_BYTES else "too large"
