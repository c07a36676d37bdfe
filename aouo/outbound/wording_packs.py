"""Permission cards in words, as Markdown: the same in a chat and in a terminal.

Names in a card are a stranger's. Each stands in a code span or with its marks escaped, in one
line, without letters that nobody sees, so that none can pass for a sentence of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC
from typing import assert_never

from aouo.outbound.quoting import code, plain, whole
from aouo.packs.card import Card, Line, card
from aouo.packs.compare import Change, Difference
from aouo.packs.signing import Signature
from aouo.packs.summary import Planned, Summary
from aouo.schedule import NotASchedule
from aouo.schedule_words import text_in_words

_LISTED_MAX = 12
_TEXT_MAX = 300

_ELSEWHERE = (
    "**It comes from another place than the installed version**, and gets all that this keeps. "
    "If it is not by the same author, do not install it."
)
_OLDER = "**It is older than the installed version**, which may have mended something."
_FINDS_DATA = (
    "**A pack of this name was here before and left data.** This one gets all of it; if it is "
    "another pack, delete the data first: install the old one, then uninstall it with --purge."
)
_PLAIN_TALK = {"msg", "memory", "clarify"}
"""What `core` is for a person; one line for all of them."""

_CAN = {
    "core": "answer you, ask with buttons, and remember things in files of its own",
    "files": "read and write files in its own folder",
    "web": "read web pages of the hosts it may reach, and search the web",
    "documents": "read documents you send",
    "voice": "speak",
    "schedule": "change its own schedules",
    "sessions": "look up what was said before in this conversation",
    "pack": "",
    "msg": "send messages, pictures and files",
    "memory": "remember things in files of its own",
    "skill_view": "",
    "load_tools": "",
    "load_skills": "",
    "clarify": "ask with buttons",
    "persist": "",
    "db": "",
    "read_file": "read files in its own folder",
    "write_file": "write files in its own folder",
    "list_dir": "list its own folder",
    "fetch": "read web pages of the hosts it may reach",
    "web_search": "search the web",
    "read_document": "read documents you send",
    "tts": "speak",
    "cron": "change its own schedules",
    "shell": "**run any command on this machine**",
}


def install_card(
    summary: Summary, difference: Difference | None = None, *, ours: bool = False
) -> str:
    """The card that is shown before an app is installed or upgraded, as Markdown.

    Without `difference` it says what an installed app may do, and asks nothing. `ours`: it came
    with aouo itself.
    """
    made = card(summary, difference)
    sections = [_head(made, asking=difference is not None)]
    if made.before:
        sections += _upgrade(made)
    else:
        sections += [
            _FINDS_DATA if made.finds_data else "",
            _section("It may", made.of("may")),
            _section("It brings", made.of("brings")),
        ]
    signed = signature_line(summary.signature, changed=made.signer_changed)
    if ours and summary.signature.state == "none" and not made.signer_changed:
        signed = "It comes with aouo."
    sections += [signed, _size(summary)]
    return "\n\n".join(section for section in sections if section)


def permissions_card(summary: Summary) -> str:
    """What an installed app may do, as Markdown."""
    title = f"**{plain(summary.display_name)} ({code(summary.name)}) may**"
    told = [sentence for line in card(summary).of("may") for sentence in _sentences(line)]
    return "\n".join([title, *(f"- {sentence}" for sentence in told)])


def _head(made: Card, *, asking: bool) -> str:
    new = made.new
    name = f"{plain(new.display_name)} ({code(new.name)})"
    version = plain(new.version)
    if made.before:
        verb = "Take back" if made.older else "Upgrade"
        title = f"**{verb} {name} from {plain(made.before)} to {version}?**"
    else:
        title = f"**Install {name} {version}?**" if asking else f"**{name} {version}**"
    described = plain(new.description, _TEXT_MAX)
    return f"{title}\n{described}" if described else title


def _upgrade(made: Card) -> list[str]:
    asks = made.of("asks")
    return [
        _ELSEWHERE if made.elsewhere else "",
        _OLDER if made.older else "",
        _section("New, and needs your yes", asks) or "It asks for nothing new.",
        _section("Different", made.of("changes")),
        _section("Gone", made.of("gone")),
        "Its database is converted by migrations of its own; a copy is kept before."
        if made.migrates
        else "",
        _left_behind(made),
    ]


def _left_behind(made: Card) -> str:
    """What the owner has to know before everybody's data seems to be gone."""
    scopes = [change for line in made.lines for change in line.changes if change.topic == "scope"]
    if not scopes:
        return ""
    name = made.new.name
    place = f"data/store/{name}.db" if scopes[0].before == "shared" else f"data/store/{name}/"
    return (
        "**What it has kept so far is not seen any more.** Nothing of it is deleted: it stays in "
        f"{code(place)} in the bot's home, and comes back with the version that is installed now."
    )


def _section(title: str, lines: Iterable[Line]) -> str:
    told = [sentence for line in lines for sentence in _sentences(line)]
    return "\n".join([f"**{title}**", *(f"- {sentence}" for sentence in told)]) if told else ""


def _sentences(line: Line) -> list[str]:
    if line.changes and line.part != "gone":
        added = tuple(one.item for one in line.changes if one.kind == "added")
        changed = [_changed(one) for one in line.changes if one.kind == "changed"]
        return [*(_said(line, added) if added else []), *changed]
    return _said(line, line.items)


def _said(line: Line, items: Sequence[str]) -> list[str]:
    """What a line of names says, one sentence a list item."""
    names = _names(items)
    match line.topic:
        case "tools":
            return _tools(items)
        case "network":
            return [f"reach on the internet: {_hosts(items)}"]
        case "file_paths":
            opened = "where the bot's settings open them"
            return [f"touch files outside its folder, {opened}: {_all(items)}"]
        case "external_commands":
            return [f"run programs on this machine: {_all(items)}"]
        case "pack_tools":
            return [f"run tools of its own, in a sandbox: {_all(items)}"]
        case "platforms":
            return [f"work on: {_all(items)}"]
        case "may_schedule":
            return _plans(line.schedules) or ["speak up by itself, on schedules"]
        case "schedules":
            return [_planned(change) for change in line.changes] or [f"schedules: {names}"]
        case "scope":
            return [_scope(items)]
        case "tables":
            return [f"tables: {names}"]
        case "memory":
            return [f"more memory files: {names}"]
        case "skills":
            return [f"skills: {names}" if items else "no skills"]
        case "commands":
            return [f"commands: {_names([f'/{name}' for name in items])}"]
        case "prompt":
            return [f"{_kilobytes(int(items[0]))} of text in each prompt"]
        case "depends_on":
            return [f"needs the packs {_all(items)}"]
        case "requires_core":
            return [f"needs aouo {names}"]
        case "signature" | "size" | "budget":
            return []
        case _:
            assert_never(line.topic)


def _changed(change: Change) -> str:
    before, after = whole(change.before), whole(change.after)
    match change.topic:
        case "signature":
            return "who signed it (see below)"
        case "scope" if change.after == "shared":
            return "keep what is new for all: **everybody who may talk to this bot reads it**"
        case "scope":
            return "begin anew with everybody, and keep each person's data apart"
        case "platforms":
            named = f"works on {after}" if change.after else "works on every platform"
            return f"{named}, before on {before}" if change.before else f"{named} only"
        case "schedules":
            return (
                f"schedule {code(change.item)}: {_when(change.after)}, was {_when(change.before)}"
            )
        case "budget":
            return _ceiling(change)
        case "pack_tools":
            return f"its tool {code(change.item)} runs {after}, was {before}"
        case "tables":
            return f"table {code(change.item)} {_columns(change)}"
        case "prompt":
            sizes = _kilobytes(int(change.after)), _kilobytes(int(change.before))
            return f"{sizes[0]} of text in each prompt, was {sizes[1]}"
        case "size":
            return f"{_kilobytes(int(change.after))} on disk, was {_kilobytes(int(change.before))}"
        case "requires_core":
            return f"needs aouo {after}" if change.after else "needs no certain version of aouo"
        case _:
            return f"{code(change.item)}: {after}, was {before}"


def _columns(change: Change) -> str:
    """Which columns come and go; both sides are names with commas between."""
    before, after = change.before.split(", "), change.after.split(", ")
    new = ", ".join(name for name in after if name not in before)
    gone = ", ".join(name for name in before if name not in after)
    said = [f"gets {code(new)}"] if new else []
    if gone:
        said.append(f"loses {code(gone)}")
    return " and ".join(said) or "has its columns in another order"


def _ceiling(change: Change) -> str:
    """A ceiling of an app; "0" is none."""
    unit = {"daily_usd": "USD a day", "daily_tokens": "tokens a day"}
    of = unit.get(change.item, "tokens a turn")
    was = f", was {plain(change.before)}" if change.before != "0" else ""
    if change.after == "0":
        return f"has no ceiling of {of} any more{was}"
    return f"uses at most {plain(change.after)} {of}{was}"


def _tools(items: Sequence[str]) -> list[str]:
    if not items:
        return ["use no tools: it can only talk"]
    named = [*(["shell"] if "shell" in items else []), *items]
    if set(items) >= _PLAIN_TALK:
        named = ["core", *(name for name in named if name not in _PLAIN_TALK)]
        named.sort(key=lambda name: name != "shell")
    known = dict.fromkeys(_CAN[name] for name in named if _CAN.get(name))
    servers = [name for name in items if name.startswith(("mcp:", "mcp__"))]
    more = [f"use what MCP servers offer: {_all(servers)}"] if servers else []
    other = [name for name in items if name not in _CAN and name not in servers]
    return [*known, *more, *([f"use {_all(other)}"] if other else [])]


def _hosts(items: Sequence[str]) -> str:
    return "**any public host**" if "*" in items else _all(items)


def _scope(items: Sequence[str]) -> str:
    whose = (
        "for each person alone" if items[0] == "person" else "**shared by all who may talk to it**"
    )
    return f"keep a database, {whose}: {_names(items[1:])}"


def _plans(schedules: Sequence[Planned]) -> list[str]:
    return [
        f"speak up by itself, {_when(job.schedule)} ({code(job.skill)})"
        + ("" if job.enabled else ", off until you switch it on")
        for job in schedules
    ]


def _planned(change: Change) -> str:
    off = "" if change.asks or change.kind == "removed" else ", off until you switch it on"
    return f"schedule {code(change.item)}: {_when(change.after or change.before)}{off}"


def _when(text: str) -> str:
    try:
        return plain(text_in_words(text, UTC))
    except NotASchedule:
        return code(text)


def signature_line(signature: Signature, *, changed: bool = False) -> str:
    """Who vouches for an app; `changed`: not the same as for the installed version."""
    other = (
        "**This is not signed by who signed the installed version.** If its author did not tell "
        "you why, do not install it.\n"
        if changed
        else ""
    )
    match signature.state:
        case "none":
            return f"{other}Not signed: nothing says who made it."
        case "valid":
            return f"{other}Signed by {plain(signature.name)}, whose key you trust."
        case "unknown_key":
            which = code(signature.key or signature.key_id)
            return f"{other}Signed with a key you have not said you trust: {which}"
        case "wrong":
            return f"**The signature is wrong:** {plain(signature.comment)}. Do not install it."
        case _:
            assert_never(signature.state)


def _size(summary: Summary) -> str:
    files = "1 file" if summary.files == 1 else f"{summary.files} files"
    return f"{files}, {_kilobytes(summary.size_bytes)}, {code(summary.content[:16])}"


def _kilobytes(size: int) -> str:
    return f"{size} bytes" if size < 1024 else f"{size / 1024:,.1f} kB"


def _all(items: Sequence[str]) -> str:
    """What somebody agrees to: every name, and the whole of it."""
    return ", ".join(map(whole, items))


def _names(items: Sequence[str]) -> str:
    shown = ", ".join(code(item) for item in items[:_LISTED_MAX])
    more = len(items) - _LISTED_MAX
    return f"{shown} and {more} more" if more > 0 else shown
