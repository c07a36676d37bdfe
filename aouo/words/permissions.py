"""Words the permissions of a pack, and how installing it in a chat goes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, assert_never

from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.records import ANY_TARGET
from aouo.facts.taps import encode
from aouo.packs.compare import Change
from aouo.store.gates import Grant
from aouo.words.catalogue import code, message, one_line, say, text, whole
from aouo.words.markdown.render import render
from aouo.words.markdown.tables import LIMIT

_LISTED_MAX = 12
_FIELD = re.compile(r"-$|[^\W\d][\w. -]*: ")
"""How a rule begins that names its field; what was said before rules did is asked anew."""
_PLAIN_TALK = {"msg", "memory", "clarify"}
"""The tools of `core` that one line of a card stands for."""

_CAN = {
    **dict.fromkeys(("pack", "skill_view", "load_tools", "load_skills", "persist", "db"), ""),
    **{one: one for one in ("core", "files", "web", "sessions", "msg", "memory", "clarify")},
    **{one: one for one in ("read_file", "write_file", "list_dir", "fetch", "web_search", "shell")},
    "documents": "read_document",
    "voice": "tts",
    "schedule": "cron",
    "read_document": "read_document",
    "tts": "tts",
    "cron": "cron",
}
"""By tool and group, which sentence says what it can; "" = none, since all packs can."""


def tools(items: Sequence[str]) -> list[str]:
    if not items:
        return [text("card.can-talk")]
    named = [*(["shell"] if "shell" in items else []), *items]
    if set(items) >= _PLAIN_TALK:
        named = ["core", *(name for name in named if name not in _PLAIN_TALK)]
        named.sort(key=lambda name: name != "shell")
    known = dict.fromkeys(text(f"card.can-{can}") for name in named if (can := _CAN.get(name)))
    servers = [name for name in items if name.startswith(("mcp:", "mcp__"))]
    more = [text("card.use-servers", names=everything(servers))] if servers else []
    other = [name for name in items if name not in _CAN and name not in servers]
    return [*known, *more, *([text("card.use-tools", names=everything(other))] if other else [])]


def hosts(items: Sequence[str]) -> str:
    return text("card.any-address") if "*" in items else everything(items)


def keeps(items: Sequence[str]) -> str:
    return text(f"card.keeps-{items[0]}", items=names(items[1:]))


def platforms(items: Sequence[str], between: str = ", ") -> str:
    known = ("tg", "cli", "web")
    return between.join(text(f"card.on-{one}") if one in known else whole(one) for one in items)


def notes(items: Sequence[str]) -> str:
    known = {"SOUL.md": "soul", "STATE.md": "state"}
    told = [text(f"card.notes-{known[item]}") if item in known else code(item) for item in items]
    return f" {text('card.and')} ".join(told)


def everything(items: Sequence[str]) -> str:
    """List all names uncut, because a person agrees to them."""
    return ", ".join(map(whole, items))


def names(items: Sequence[str]) -> str:
    return _shortened([code(item) for item in items[:_LISTED_MAX]], len(items))


def file_changes(changes: Sequence[Change]) -> str:
    """List the files that are new, changed and gone, with their sizes."""
    return _shortened([_file_change(change) for change in changes[:_LISTED_MAX]], len(changes))


def _shortened(told: Sequence[str], count: int) -> str:
    shown, more = ", ".join(told), count - len(told)
    return f"{shown} {text('card.more', count=more)}" if more > 0 else shown


def _file_change(change: Change) -> str:
    name = whole(change.item)
    match change.kind:
        case "added":
            return text("card.file-new", name=name, size=kilobytes(int(change.after)))
        case "removed":
            return text("card.file-gone", name=name)
        case "changed":
            now, was = (kilobytes(int(size)) for size in (change.after, change.before))
            size = now if now == was else f"{now}, {text('card.was', before=was)}"
            return text("card.file-changed", name=name, size=size)
        case _:
            assert_never(change.kind)


def kilobytes(size: int) -> str:
    return text("card.bytes", count=size) if size < 1024 else f"{size / 1024:,.1f} kB"


_NAMED_MAX = 6


def install_usage(bundled: Mapping[str, str]) -> Rendered:
    """Return the answer to `/install` alone; `bundled` come with aouo and are not installed: what
    each does, by its name."""
    if not bundled:
        return say("install.usage")
    lines = [text("install.along", name=name, about=about) for name, about in bundled.items()]
    names = list(bundled)[:_NAMED_MAX]
    buttons = [ButtonSpec(name, encode("install_offer", name)) for name in names]
    told = "\n".join((text("install.usage"), "", text("install.bundled"), *lines))
    return message(told, buttons)


def offered(change_id: str, card: str, yes: Literal["install", "upgrade", "older"]) -> Rendered:
    """Return the question whether to change a pack; `card` is Markdown that says what it may do.

    A card that is cut gets no buttons: a person must not agree to one that is not shown whole.
    """
    parts = render(card)
    buttons = (
        ButtonSpec(text(f"install.yes-{yes}"), encode("install_yes", change_id)),
        ButtonSpec(text("install.decline"), encode("install_no", change_id)),
    )
    cut = text("install.cut")
    if len(parts) == 1:
        return Rendered(parts[0].text, parts[0].entities, (buttons,), 0, False)
    opening = render(card, limit=LIMIT - len(cut) - 2)[0]
    return Rendered(f"{opening.text}\n\n{cut}", opening.entities, (), 0, False)


def installed(pack: str, version: str, *, here: bool, settings: bool) -> Rendered:
    """Return that a pack was installed; `here`: it has no topic and can answer in this chat,
    `settings`: it has some."""
    said = text("install.installed", pack=pack, version=version)
    if not here:
        said = f"{said} {text('install.has-topic')}"
    rows = [[ButtonSpec(text("install.talk"), encode("pack", pack))]] if here else []
    if settings:
        set_up = ButtonSpec(text("install.settings"), encode("command", f"settings {pack}"))
        rows.append([set_up])
    return message(said, *rows)


_BUTTONS_MAX = 20


def granted(
    grants: Sequence[Grant],
    sources: Sequence[str],
    changed: Mapping[str, Collection[str]],
    mine: str,
) -> Rendered:
    """Return the answer to `/grants`: what was allowed for good, whose words the conversation has
    read, and the tool servers that say something else of these tools than before. `mine` is the
    reader's own id."""
    parts, rows = list[str](), list[list[ButtonSpec]]()
    if sources:
        parts.append(text("grants.has-read", sources=", ".join(map(one_line, sources))))
        rows.append([_command(text("grants.button-read"), "read")])
    for server, names in changed.items():
        told = ", ".join(map(one_line, sorted(names)))
        parts.append(text("grants.changed", server=server, tools=told))
        rows.append([_command(text("grants.button-trust", server=server), f"trust {server}")])
    if not grants:
        parts.append(text("grants.none"))
    else:
        lines = [
            text("grants.line", number=number, line=grant_line(one, mine), used=_used(one))
            for number, one in enumerate(grants, 1)
        ]
        parts.append("\n".join((text("grants.head"), *lines)))
    rows += [
        [_command(text("grants.button-back", number=number), f"back {one.id}")]
        for number, one in enumerate(grants[:_BUTTONS_MAX], 1)
    ]
    return message("\n\n".join(parts), *rows)


def grant_line(one: Grant, mine: str) -> str:
    """Return what a grant allows, in one line; for whom, unless that is who reads it, `mine`."""
    target = text("grants.any") if one.target == ANY_TARGET else one_line(one.target)
    if one.kind == "folder":
        target = text("grants.folder", folder=target)
    elif one.target != ANY_TARGET and not _FIELD.match(one.target):
        target = text("grants.anew", target=target)
    line = text("grants.what", pack=one.pack, tool=one.tool, target=target)
    return text("grants.other", line=line, person=one.person) if one.person != mine else line


def _used(one: Grant) -> str:
    if not one.times:
        return text("grants.unused")
    return text("grants.used", count=one.times, last=one.last[:10])


def _command(label: str, rest: str) -> ButtonSpec:
    return ButtonSpec(label, encode("command", f"grants {rest}"))
