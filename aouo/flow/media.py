"""Words files for the model, says what tools can do with them, and removes old ones.

media/<platform>_<chat>[_<thread>]/<job>_<position>_<name>
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from aouo.agent.documents.kinds import why_not_read
from aouo.agent.tools import files
from aouo.agent.tools.registry import Tool
from aouo.facts.attachments import PICTURES, Attachment, Kind
from aouo.facts.events import Album, Attached, Inbound
from aouo.facts.work import KeptFile
from aouo.guard.paths import holds_a_path
from aouo.guard.sent_files import FOLDER, READERS
from aouo.guard.targets import as_said
from aouo.plumbing import magic
from aouo.plumbing.trees import remove as removed
from aouo.plumbing.web.envelope import untrusted

_QUOTA_BYTES = 2_000_000_000
"""All files together; above it the oldest go, whatever their age."""


def remove_files(media: Path, job_id: int, inbound: Inbound) -> None:
    """Remove the files of one job, what is left of a download that was cut off, and what was
    uploaded on the page for it."""
    if inbound.address.platform == "web" and isinstance(inbound.content, Attached | Album):
        for item in inbound.content.items:
            removed(media / item.file_id)
    for pattern in (f"*/{job_id}_*", f"*/.{job_id}_*"):
        for file in media.glob(pattern):
            removed(file)


def prune_files(media: Path, before_s: float, *, quota_bytes: int = _QUOTA_BYTES) -> list[str]:
    """Remove what was written before `before_s` (Unix time), and the oldest above the quota.

    Returns the paths that are gone, below `media`. Folders stay: a download may be on its way.
    """
    files = sorted(_files(media))
    total = sum(size for _, size, _ in files)
    gone: list[str] = []
    for written_s, size, file in files:
        if written_s >= before_s and total <= quota_bytes:
            break
        file.unlink(missing_ok=True)
        total -= size
        gone.append(str(file.relative_to(media)))
    return gone


def _files(media: Path) -> Iterator[tuple[float, int, Path]]:
    """(when it was written, bytes, path)."""
    for file in media.glob("*/*"):
        with suppress(FileNotFoundError):  # removed meanwhile
            facts = file.lstat()
            if stat.S_ISREG(facts.st_mode):
                yield facts.st_mtime, facts.st_size, file


Reach: TypeAlias = str
"""What tools can do with a file: `opens`, `no tool`, `too large`, `no such kind`, or instead of
that the sentence why it is not read."""


def as_it_is(item: Attachment, file: Path) -> tuple[Kind, str]:
    """Return what a file is by its content, and its media type; for what was sent as a file.

    What only claims to be a picture or sound has no type.
    """
    found = magic.type_of_file(file)
    if item.kind == "photo" and found and not found.startswith("image/"):
        return "document", found
    if item.kind != "document":
        return item.kind, item.mime_type
    claims = item.mime_type.lower() in PICTURES or item.mime_type.startswith("audio/")
    declared = "" if claims and not found else item.mime_type
    return ("audio" if found.startswith("audio/") else "document"), found or declared


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
    limits = (files.DOCUMENT_BYTES if documents else 0, files.MAX_BYTES if text else 0)
    if not any(limits):
        return "no tool"
    if kept.size_bytes > max(limits):
        return "too large"
    try:
        data = file.read_bytes()
    except OSError:  # gone since; whoever opens it is told so
        return "opens"
    why_not = why_not_read(data, file.name) if documents else ""
    if documents and not why_not:
        return "opens"
    if not text or files.text_in(data) is None:
        return why_not or "no such kind"
    return "opens" if len(data) <= files.MAX_BYTES else "too large"


def words_of(
    content: Attached | Album,
    said: str,
    kept: Mapping[int, KeptFile],
    reach: Mapping[int, tuple[bool, Reach]],
) -> str:
    """The person's words of a turn that began with files.

    `reach`: whether the model sees a file, and what its tools can do with it. `said` are the words
    under the files; several captions stand each under its own file instead.
    History keeps exactly this: of a picture itself it keeps nothing.
    """
    parts = content.parts if isinstance(content, Album) else ()
    lines = [line for part in parts for line in (*part.about, as_said(part.theirs, part.text))]
    lines += content.about
    captioned = [item for item in content.items if item.caption]
    several = len(captioned) > 1
    if isinstance(content, Album) and not parts:
        more = "more of the album sent before" if content.late else "album"
        lines.append(f"[{more}: {len(content.items)} item{'s' if len(content.items) > 1 else ''}]")
    for position, item in enumerate(content.items):
        one = kept.get(position)
        if one is None:  # only referred to, and not to be had
            continue
        item = replace(item, kind=one.kind, mime_type=one.mime_type)
        lines.append(_line(item, one, *reach[position]))
        if item.is_heard and one.text:
            own = item.kind == "voice" and not item.theirs
            lines.append(one.text if own else untrusted(one.text, item.theirs or item.kind))
        if several and item.caption:
            lines.append(as_said(_captioned_by(item), item.caption))
    if said and not several:
        lines.append(as_said(next(map(_captioned_by, captioned), ""), said))
    return "\n".join(lines)


def _captioned_by(item: Attachment) -> str:
    """Whose the caption is: under a file that is only replied to it is the sender's text."""
    return "" if item.referred else item.theirs


def _line(item: Attachment, kept: KeptFile, seen: bool, reach: Reach) -> str:
    """What it is, and for what can be opened where it lies."""
    length = f", {item.duration_s} s" if item.duration_s else ""
    place = f"; {_place(kept, reach)}" if reach == "opens" else ""  # its words are here anyway
    match item.kind:
        case "voice":
            return f"[voice message{length}{place}; what was said:]"
        case "audio":
            return f"[audio {item.file_name}{length}{place}; what was heard in it:]"
        case "video_note":
            return f"[video message{length}{place}; the picture was not seen; what was said:]"
        case "photo" if kept.text:
            return f"[photo; another model looked at it and says:]\n{untrusted(kept.text, 'photo')}"
        case "photo":
            return "[photo, seen in this turn only; a reply to it shows it again]"
        case "document":
            kind = f", {item.mime_type}" if item.mime_type else ""
            known = "seen in this turn only; a reply to it shows it again" if seen else ""
            if not seen or reach == "opens":
                known = "; ".join(filter(None, (known, _place(kept, reach))))
            return f"[file {item.file_name}{kind}, {_size(kept)}; {known}]"
        case "video" | "animation":
            return (
                f"[{item.kind} {item.file_name}{length}, {_size(kept)}; you have not seen it; "
                f"{_place(kept, reach)}]"
            )


def _place(kept: KeptFile, reach: Reach) -> str:
    match reach:
        case "opens":
            return f"path: {FOLDER}{kept.path.rpartition('/')[2]}"
        case "no tool":
            return "it is kept, but you have no tool to open it"
        case "too large":
            return "it is kept, but it is larger than your tools read"
        case "no such kind":
            return "it is kept, but no tool of yours reads this kind of file"
        case why_not:
            return f"it is kept, but no tool of yours reads this kind of file: {why_not}"


def _size(kept: KeptFile) -> str:
    if kept.size_bytes < 10_000:
        return f"{kept.size_bytes:,} bytes"
    return f"{kept.size_bytes / 1_000:,.0f} kB"
