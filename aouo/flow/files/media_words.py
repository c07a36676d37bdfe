"""Words files for the model: one bracketed line each, then what they say."""

from __future__ import annotations

from collections.abc import Mapping

from aouo.facts.attachments import Attachment
from aouo.facts.events import FORWARDED, Album, Attached
from aouo.facts.work import KeptFile
from aouo.flow.files.media_reach import Reach
from aouo.guard.sent_files import FOLDER
from aouo.web.envelope import forwarded, untrusted


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
    lines = [*content.about]
    captioned = [item for item in content.items if item.caption]
    several = len(captioned) > 1
    theirs = any(line.startswith(FORWARDED) for line in content.about)
    if isinstance(content, Album):
        more = "more of the album sent before" if content.late else "album"
        lines.append(f"[{more}: {len(content.items)} item{'s' if len(content.items) > 1 else ''}]")
    for position, item in enumerate(content.items):
        one = kept.get(position)
        if one is None:  # only referred to, and not to be had
            continue
        lines.append(_line(item, one, *reach[position]))
        if item.is_heard and one.text:
            own = item.kind == "voice" and not theirs
            lines.append(one.text if own else untrusted(one.text, item.kind))
        if several and item.caption:
            lines.append(forwarded(item.caption, content.about))
    if said and not several:
        lines.append(forwarded(said, content.about))
    return "\n".join(lines)


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
        case "no such kind":
            return "it is kept, but no tool of yours reads this kind of file"
        case "too large":
            return "it is kept, but it is larger than your tools read"


def _size(kept: KeptFile) -> str:
    if kept.size_bytes < 10_000:
        return f"{kept.size_bytes:,} bytes"
    return f"{kept.size_bytes / 1_000:,.0f} kB"
