"""Words permission cards as Markdown, the same for a chat and a terminal.

Names in a card are a stranger's. Each stands in a code span or with its marks escaped, on one
line, without invisible characters, so that none can look like a sentence of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from typing import Literal, TypeAlias, assert_never

from aouo.facts.schedule import NotASchedule
from aouo.packs.compare import Change, Difference, Topic, budget_changes
from aouo.packs.format.manifest import Budget
from aouo.packs.shipping.signing import Signature
from aouo.packs.summary import Summary
from aouo.words.catalogue import code, plain, speaking, whole
from aouo.words.permissions import (
    everything,
    file_changes,
    hosts,
    keeps,
    kilobytes,
    names,
    notes,
    platforms,
    tools,
)
from aouo.words.schedules import text_in_words

_TEXT_MAX = 300
_UNUSED_MAX = 10

_BEHIND = frozenset({"onboarding", "aggregator"})
"""Skills that nobody asks for: the first conversation, and the one that only a schedule starts."""
_Part: TypeAlias = Literal["asks", "changes", "gone"]
"""Of an upgrade: what needs a yes, what is different and needs none, what it gives up."""
_FILES_OF: Mapping[Topic, str] = {
    "programs": "what it runs",
    "soul": "who it is and how it works",
    "skill_texts": "what its skills tell the model",
}
UNREAD: Mapping[str, str] = {
    "new": "in the folder, not loaded yet",
    "changed": "changed in the folder; the bot goes on with what it read before",
    "gone": "not in the folder any more; the bot goes on with it",
    "broken": "does not load any more; the bot goes on with what it read before",
}
"""How a pack's folder differs from what the running bot has loaded."""
_ELSEWHERE = (
    "**It comes from another place than the installed version**, and gets all that this keeps. "
    "If it is not by the same author, do not install it."
)
_OLDER = "**It is older than the installed version**, which may have mended something."
_FINDS_DATA = (
    "**A pack of this name was here before and left data.** This one gets all of it; if it is "
    "another pack, say no, install the old one again, and remove it with `aouo pack uninstall {} "
    "--purge` on the bot's machine, which deletes its data."
)


def install_card(
    summary: Summary, difference: Difference | None = None, *, ours: bool = False
) -> str:
    """Return the card that is shown before a pack is installed or upgraded, as Markdown.

    Without `difference` it says what an installed pack may do, and asks nothing. `ours`: the pack
    came with aouo. It is in English, whoever reads it.
    """
    with speaking("en"):
        return _card(summary, difference, ours=ours)


def _card(summary: Summary, difference: Difference | None, *, ours: bool) -> str:
    old = difference.old if difference else None
    if difference and old:
        verb, before = "Take back" if difference.older else "Upgrade", plain(old.version)
        title = f"{verb} {{}} from {before} to {{}}?"
        sections = [_head(summary, title), *_upgrade(difference, old, summary)]
        signer_changed = difference.signer_changed
    else:
        finds_data = difference is not None and difference.finds_data
        sections = [
            _head(summary, "Install {} {}?" if difference else "{} {}"),
            _FINDS_DATA.format(summary.name) if finds_data else "",
            _section("It may", _may(summary)),
            _section("It brings", _brings(summary)),
        ]
        signer_changed = False
    signed = signature_line(summary.signature, changed=signer_changed)
    if ours and summary.signature.state == "none" and not signer_changed:
        signed = "It comes with aouo."
    sections += [_unused(summary), signed, _size(summary)]
    return "\n\n".join(section for section in sections if section)


def _unused(summary: Summary) -> str:
    if not summary.unused:
        return ""
    more = len(summary.unused) - _UNUSED_MAX
    told = [f"- {plain(said, _TEXT_MAX)}" for said in summary.unused[:_UNUSED_MAX]]
    told += [f"- and {more} more"] if more > 0 else []
    title = "**It was written for another runtime; this of it does nothing here**"
    return "\n".join([title, *told])


def permissions_card(summary: Summary) -> str:
    """Return what an installed pack may do, as Markdown."""
    title = f"**{plain(summary.display_name)} ({code(summary.name)}) may**"
    told = list(_may(summary))
    return "\n".join([title, *(f"- {sentence}" for sentence in told)])


def card_sentences(summary: Summary, part: Literal["may", "brings"]) -> list[str]:
    """Return what an installed pack may do, or what it brings, each as Markdown."""
    return list(_may(summary) if part == "may" else _brings(summary))


def _head(new: Summary, title: str) -> str:
    """Return the title, with places for name and version, and the description below it."""
    name = f"{plain(new.display_name)} ({code(new.name)})"
    said = f"**{title.format(name, plain(new.version))}**"
    described = plain(new.description, _TEXT_MAX)
    return f"{said}\n{described}" if described else said


def _may(summary: Summary) -> Iterator[str]:
    """Say what bounds a pack, in the order of what a person would look for first, then what every
    pack can do, and what narrows it."""
    if "shell" in summary.tools:
        yield from tools(("shell",))
    lists: tuple[tuple[Topic, tuple[str, ...]], ...] = (
        ("external_commands", summary.external_commands),
        ("file_paths", summary.file_paths),
        ("network", summary.network),
        ("pack_tools", tuple(tool.name for tool in summary.pack_tools)),
    )
    for topic, items in lists:
        if items:
            yield from _said(topic, items)
    if summary.may_schedule:
        yield from _plans(summary) or _said("may_schedule", ())
        yield from (_looks(f"{watch.every} {watch.target}") for watch in summary.watches)
    if summary.tables:
        yield from _said("scope", (summary.scope, *summary.tables))
    rest = tuple(name for name in summary.tools if name != "shell")
    if rest or not summary.tools:
        yield from tools(rest)
    if summary.platforms:
        yield from _said("platforms", summary.platforms)


def _brings(summary: Summary) -> Iterator[str]:
    skills = tuple(_title(summary, name) for name in summary.skills if name not in _BEHIND)
    lists: tuple[tuple[Topic, tuple[str, ...]], ...] = (
        ("actions", summary.actions),
        ("skills", skills),
        ("commands", summary.commands),
        ("memory", summary.memory),
        ("prompt", (str(summary.prompt_bytes),)),
    )
    for topic, items in lists:
        if items:
            yield from _said(topic, items)
    yield from map(_changed, budget_changes(Budget(), summary.budget))
    if summary.depends_on:
        yield from _said("depends_on", summary.depends_on)
    if summary.requires_core:
        yield from _said("requires_core", (summary.requires_core,))


def _upgrade(difference: Difference, old: Summary, new: Summary) -> list[str]:
    parts = _differing(difference)
    return [
        _ELSEWHERE if difference.elsewhere else "",
        _OLDER if difference.older else "",
        _section("New, and needs your yes", parts["asks"]) or "It asks for nothing new.",
        _section("Different", parts["changes"]),
        _section("Gone", parts["gone"]),
        ""
        if set(new.migrations) <= set(old.migrations)
        else "What it has kept so far is rewritten for this version; a copy is made before.",
        _left_behind(difference),
    ]


def _left_behind(difference: Difference) -> str:
    """Return a warning that the kept data is hidden after a change of scope, "" = no change."""
    scopes = [change for change in difference.changes if change.topic == "scope"]
    if not scopes:
        return ""
    name = difference.new.name
    place = f"data/store/{name}.db" if scopes[0].before == "shared" else f"data/store/{name}/"
    return (
        "**What it has kept so far is not seen any more.** Nothing of it is deleted: it stays in "
        f"{code(place)} in the bot's home, and comes back with the version that is installed now."
    )


def _differing(difference: Difference) -> dict[_Part, list[str]]:
    """Word all changes, those of one topic beside each other."""
    grouped: dict[tuple[_Part, Topic], list[Change]] = {}
    for change in difference.changes:
        if change.topic == "size":  # it stands below the card
            continue
        part: _Part = "asks" if change.asks else "changes"
        if change.kind == "removed" and change.topic not in _FILES_OF:
            part = "gone"
        if change.topic == "skills":
            if change.item in _BEHIND:
                continue
            summary = difference.old if part == "gone" else difference.new
            change = replace(change, item=_title(summary or difference.new, change.item))
        grouped.setdefault((part, change.topic), []).append(change)
    told: dict[_Part, list[str]] = {"asks": [], "changes": [], "gone": []}
    for (part, topic), changes in grouped.items():
        told[part] += _sentences(part, topic, changes)
    return told


def _title(summary: Summary, skill: str) -> str:
    """Return how people read a skill's name, which a schedule may write after its pack's."""
    return summary.titles.get(skill.removeprefix(f"{summary.name}:"), skill)


def _section(title: str, sentences: Iterable[str]) -> str:
    told = [f"- {sentence}" for sentence in sentences]
    return "\n".join([f"**{title}**", *told]) if told else ""


def _sentences(part: _Part, topic: Topic, changes: Sequence[Change]) -> list[str]:
    if topic in _FILES_OF:
        return [f"{_FILES_OF[topic]}: {file_changes(changes)}"]
    new = "new " if part == "changes" else ""
    if part == "gone":
        return _said(topic, [one.item for one in changes], changes)
    added = [one.item for one in changes if one.kind == "added"]
    changed = [_changed(one) for one in changes if one.kind == "changed"]
    return [*(_said(topic, added, changes, new) if added else []), *filter(None, changed)]


def _said(
    topic: Topic, items: Sequence[str], changes: Sequence[Change] = (), new: str = ""
) -> list[str]:
    """Return the sentences for the names of a topic, one per list item."""
    match topic:
        case "tools":
            return tools(items)
        case "network":
            return [f"reach on the internet: {hosts(items)}"]
        case "file_paths":
            opened = "as far as the bot's settings allow"
            return [f"read and change files outside its own folder, {opened}: {everything(items)}"]
        case "external_commands":
            return [f"run programs that are on the bot's machine: {everything(items)}"]
        case "pack_tools":
            return [f"run small programs of its own, kept apart from the rest: {everything(items)}"]
        case "platforms":
            return [f"work only in {platforms(items)}"]
        case "may_schedule":
            return ["write to you by itself, at set times"]
        case "schedules":
            return [_planned(change) for change in changes]
        case "watches":
            changed = [change for change in changes if change.item in items]
            return [_looks(change.after or change.before) for change in changed]
        case "scope":
            return [keeps(items)]
        case "tables":
            return [f"{new}data that it keeps: {names(items)}"]
        case "memory":
            return [f"{new}{notes(items)}"]
        case "actions":
            return [f"{new}what you can do by a tap or a phrase: {names(items)}"]
        case "skills":
            return [f"{new}skills: {names(items)}"]
        case "commands":
            return [f"{new}commands: {names([f'/{name}' for name in items])}"]
        case "prompt":
            return [f"about {_words(items[0])} that the model reads with each message"]
        case "depends_on":
            return [f"works only with the packs {everything(items)}"]
        case "requires_core":
            return [f"needs aouo {names(items)}"]
        case "signature" | "size" | "budget" | "programs" | "soul" | "skill_texts":
            return []
        case _:
            assert_never(topic)


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
            before, after = (platforms(side.split(", ")) for side in (change.before, change.after))
            named = f"works only in {after}" if change.after else "works everywhere"
            return f"{named}, was only in {before}" if change.before else named
        case "schedules":
            same = change.after == change.before
            was = "with other work than before" if same else f"was {_when(change.before)}"
            return f"write to you by itself, {_when(change.after)} ({code(change.item)}), {was}"
        case "watches":
            same = change.after == change.before
            return _looks(change.after) + ("" if same else f", was: {_looks(change.before)}")
        case "budget":
            return _ceiling(change)
        case "pack_tools":
            return f"its program {code(change.item)} starts {after}, was {before}"
        case "tables":
            return f"what it keeps in {code(change.item)}: {_columns(change)}"
        case "prompt":
            now, was = _words(change.after), _words(change.before)
            told = f"about {now} that the model reads with each message, was {was.split()[0]}"
            return told if now != was else ""
        case "size":
            return f"{kilobytes(int(change.after))} on disk, was {kilobytes(int(change.before))}"
        case "requires_core":
            return f"needs aouo {after}" if change.after else "needs no certain version of aouo"
        case _:
            return f"{code(change.item)}: {after}, was {before}"


def _columns(change: Change) -> str:
    """Return which columns are added and removed; both sides are names separated by commas.

    If both are equal, the rules differ, such as NOT NULL or a default.
    """
    before, after = change.before.split(", "), change.after.split(", ")
    new = ", ".join(name for name in after if name not in before)
    gone = ", ".join(name for name in before if name not in after)
    said = [f"{code(new)} is new"] if new else []
    if gone:
        said.append(f"{code(gone)} is gone")
    same = "other rules" if before == after else "another order"
    return ", ".join(said) or f"the same as before, in {same}"


def _ceiling(change: Change) -> str:
    """Return the sentence for a changed limit of a pack; "0" = no limit."""
    unit = {"daily_usd": "USD a day", "daily_tokens": "tokens a day"}
    of = unit.get(change.item, "tokens an answer")
    was = f", was {plain(change.before)}" if change.before != "0" else ""
    if change.after == "0":
        return f"sets itself no limit any more, was {plain(change.before)} {of}"
    return f"uses at most {plain(change.after)} {of}{was}"


def _plans(summary: Summary) -> list[str]:
    return [
        f"write to you by itself, {_when(job.schedule)} "
        f"({code(_title(summary, job.skill) or job.id)})"
        + ("" if job.enabled else ", off until you switch it on")
        for job in summary.schedules
    ]


def _planned(change: Change) -> str:
    off = "" if change.asks or change.kind == "removed" else ", off until you switch it on"
    when = _when(change.after or change.before)
    return f"write to you by itself, {when} ({code(change.item)}){off}"


def _looks(told: str) -> str:
    """Word what a watch looks at, and how often; `told` holds both."""
    every, _, target = told.partition(" ")
    at = code(target) if target else "what it keeps"
    return f"look at {at} by itself, {_when(f'every {every}')}, and write to you when it changed"


def _when(text: str) -> str:
    try:
        return plain(text_in_words(text, UTC))
    except NotASchedule:
        return code(text)


def signature_line(signature: Signature, *, changed: bool = False) -> str:
    """Return the sentence about a pack's signature; `changed`: the signer is another one."""
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
    return f"{files}, {kilobytes(summary.size_bytes)}, fingerprint {code(summary.content[:16])}"


def _words(size_bytes: str) -> str:
    """Return roughly how many words a text of so many bytes has: "117 words"."""
    number = max(1, round(int(size_bytes) / 6))
    return "1 word" if number == 1 else f"{number} words"
