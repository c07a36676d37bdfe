"""Words the permissions of a pack, and how installing it in a chat goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, assert_never

from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.taps import encode
from aouo.packs.compare import Change
from aouo.words.catalogue import code, message, say, speaking, text, whole
from aouo.words.markdown.render import render
from aouo.words.markdown.tables import LIMIT

_LISTED_MAX = 12
PLATFORMS = {"tg": "Telegram", "cli": "the terminal", "web": "the local page"}
_NOTES = {
    "SOUL.md": "notes on how to be with you",
    "STATE.md": "notes on where things stand with you",
}
_PLAIN_TALK = {"msg", "memory", "clarify"}
"""The tools of `core` that one line of a card stands for."""

_CAN = {
    "core": "answer you, ask with buttons, and remember things about you",
    "files": "read and write files in its own folder",
    "web": "read web pages at the addresses it may reach, and search the web",
    "documents": "read documents you send",
    "voice": "speak",
    "schedule": "change when it writes to you by itself",
    "sessions": "look up what was said before in this conversation",
    "pack": "",
    "msg": "send messages, pictures and files",
    "memory": "remember things about you",
    "skill_view": "",
    "load_tools": "",
    "load_skills": "",
    "clarify": "ask with buttons",
    "persist": "",
    "db": "",
    "read_file": "read files in its own folder",
    "write_file": "write files in its own folder",
    "list_dir": "list its own folder",
    "fetch": "read web pages at the addresses it may reach",
    "web_search": "search the web",
    "read_document": "read documents you send",
    "tts": "speak",
    "cron": "change when it writes to you by itself",
    "shell": "**run any command on the bot's machine**",
}


def tools(items: Sequence[str]) -> list[str]:
    if not items:
        return ["only talk"]
    named = [*(["shell"] if "shell" in items else []), *items]
    if set(items) >= _PLAIN_TALK:
        named = ["core", *(name for name in named if name not in _PLAIN_TALK)]
        named.sort(key=lambda name: name != "shell")
    known = dict.fromkeys(_CAN[name] for name in named if _CAN.get(name))
    servers = [name for name in items if name.startswith(("mcp:", "mcp__"))]
    more = [f"use services that are connected to the bot: {everything(servers)}"] if servers else []
    other = [name for name in items if name not in _CAN and name not in servers]
    return [*known, *more, *([f"use {everything(other)}"] if other else [])]


def hosts(items: Sequence[str]) -> str:
    return "**any address**" if "*" in items else everything(items)


def keeps(items: Sequence[str]) -> str:
    whose = (
        "for each person apart" if items[0] == "person" else "**shared by all who may talk to it**"
    )
    return f"keep data, {whose}: {names(items[1:])}"


def platforms(items: Sequence[str]) -> str:
    return ", ".join(PLATFORMS.get(item) or whole(item) for item in items)


def notes(items: Sequence[str]) -> str:
    return " and ".join(_NOTES.get(item) or code(item) for item in items)


def everything(items: Sequence[str]) -> str:
    """List all names uncut, because a person agrees to them."""
    return ", ".join(map(whole, items))


def names(items: Sequence[str]) -> str:
    shown = ", ".join(code(item) for item in items[:_LISTED_MAX])
    more = len(items) - _LISTED_MAX
    return f"{shown} and {more} more" if more > 0 else shown


def file_changes(changes: Sequence[Change]) -> str:
    """List the files that are new, changed and gone, with their sizes."""
    told = [_file_change(change) for change in changes[:_LISTED_MAX]]
    more = len(changes) - _LISTED_MAX
    return ", ".join(told) + (f" and {more} more" if more > 0 else "")


def _file_change(change: Change) -> str:
    name = whole(change.item)
    match change.kind:
        case "added":
            return f"{name} is new ({kilobytes(int(change.after))})"
        case "removed":
            return f"{name} is gone"
        case "changed":
            now, was = (kilobytes(int(size)) for size in (change.after, change.before))
            return f"{name} is changed ({now}{'' if now == was else f', was {was}'})"
        case _:
            assert_never(change.kind)


def kilobytes(size: int) -> str:
    return f"{size} bytes" if size < 1024 else f"{size / 1024:,.1f} kB"


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
    with speaking("en"):  # as the card is
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
