"""Words permission cards as Markdown, the same for a chat and a terminal.

Names in a card are a stranger's. Each stands in a code span or with its marks escaped, on one
line, without invisible characters, so that none can look like a sentence of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC
from typing import Literal, TypeAlias, assert_never

from aouo.facts.schedule import NotASchedule
from aouo.packs.compare import Change, Difference, Topic, budget_changes
from aouo.packs.format.fast_paths import translated
from aouo.packs.format.manifest import Budget
from aouo.packs.shipping.signing import Signature
from aouo.packs.summary import Summary
from aouo.words.catalogue import code, language, plain, text, whole
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
_FILES: frozenset[Topic] = frozenset({"programs", "soul", "skill_texts"})
"""What is told as files."""


def install_card(
    summary: Summary, difference: Difference | None = None, *, ours: bool = False
) -> str:
    """Return the card that is shown before a pack is installed or upgraded, as Markdown.

    Without `difference` it says what an installed pack may do, and asks nothing. `ours`: the pack
    came with aouo.
    """
    old = difference.old if difference else None
    if difference and old:
        verb = "older" if difference.older else "upgrade"
        sections = [_head(summary, verb, old.version), *_upgrade(difference, old, summary)]
        signer_changed = difference.signer_changed
    else:
        finds_data = difference is not None and difference.finds_data
        sections = [
            _head(summary, "install" if difference else "named"),
            text("card.finds-data", pack=summary.name) if finds_data else "",
            _section("may", _may(summary)),
            _section("brings", _brings(summary)),
        ]
        signer_changed = False
    signed = signature_line(summary.signature, changed=signer_changed)
    if ours and summary.signature.state == "none" and not signer_changed:
        signed = text("card.ours")
    sections += [_unused(summary), signed, _size(summary)]
    return "\n\n".join(section for section in sections if section)


def _unused(summary: Summary) -> str:
    if not summary.unused:
        return ""
    more = len(summary.unused) - _UNUSED_MAX
    told = [f"- {plain(said, _TEXT_MAX)}" for said in summary.unused[:_UNUSED_MAX]]
    told += [f"- {text('card.more', count=more)}"] if more > 0 else []
    return "\n".join([f"**{text('card.unused')}**", *told])


def permissions_card(summary: Summary) -> str:
    """Return what an installed pack may do, as Markdown."""
    title = text("card.named-may", name=f"{plain(summary.display_name)} ({code(summary.name)})")
    return "\n".join([f"**{title}**", *(f"- {sentence}" for sentence in _may(summary))])


def card_sentences(summary: Summary, part: Literal["may", "brings"]) -> list[str]:
    """Return what an installed pack may do, or what it brings, each as Markdown."""
    return list(_may(summary) if part == "may" else _brings(summary))


def _head(new: Summary, title: str, before: str = "") -> str:
    """Return the title with name and version, and the description below it."""
    name = f"{plain(_own(new, new.display_name))} ({code(new.name)})"
    said = text(f"card.head-{title}", name=name, version=plain(new.version), before=plain(before))
    described = plain(_own(new, new.description), _TEXT_MAX)
    return f"**{said}**\n{described}" if described else f"**{said}**"


def _own(summary: Summary, said: str) -> str:
    """Return words of a pack in the language that is spoken, if it says them in it."""
    return translated(summary.translations, language(), said)


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
        yield from [
            _plan(job.schedule, _title(summary, job.skill) or job.id, off=not job.enabled)
            for job in summary.schedules
        ] or _said("may_schedule", ())
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
        ("actions", tuple(_own(summary, title) for title in summary.actions)),
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
        text("card.elsewhere") if difference.elsewhere else "",
        text("card.is-older") if difference.older else "",
        _section("asks", parts["asks"]) or text("card.asks-nothing"),
        _section("changes", parts["changes"]),
        _section("gone", parts["gone"]),
        "" if set(new.migrations) <= set(old.migrations) else text("card.rewritten"),
        _left_behind(difference),
    ]


def _left_behind(difference: Difference) -> str:
    """Return a warning that the kept data is hidden after a change of scope, "" = no change."""
    scopes = [change for change in difference.changes if change.topic == "scope"]
    if not scopes:
        return ""
    name = difference.new.name
    place = f"data/store/{name}.db" if scopes[0].before == "shared" else f"data/store/{name}/"
    return text("card.hidden", place=code(place))


def _differing(difference: Difference) -> dict[_Part, list[str]]:
    """Word all changes, those of one topic beside each other."""
    grouped: dict[tuple[_Part, Topic], list[Change]] = {}
    for change in difference.changes:
        if change.topic == "size":  # it stands below the card
            continue
        part: _Part = "asks" if change.asks else "changes"
        if change.kind == "removed" and change.topic not in _FILES:
            part = "gone"
        if change.topic == "skills":
            if change.item in _BEHIND:
                continue
            summary = difference.old if part == "gone" else difference.new
            change = replace(change, item=_title(summary or difference.new, change.item))
        if change.topic == "actions":
            change = replace(change, item=_own(difference.new, change.item))
        grouped.setdefault((part, change.topic), []).append(change)
    told: dict[_Part, list[str]] = {"asks": [], "changes": [], "gone": []}
    for (part, topic), changes in grouped.items():
        told[part] += _sentences(part, topic, changes)
    return told


def _title(summary: Summary, skill: str) -> str:
    """Return how people read a skill's name, which a schedule may write after its pack's."""
    return _own(summary, summary.titles.get(skill.removeprefix(f"{summary.name}:"), skill))


def _section(title: str, sentences: Iterable[str]) -> str:
    told = [f"- {sentence}" for sentence in sentences]
    return "\n".join([f"**{text(f'card.title-{title}')}**", *told]) if told else ""


def _sentences(part: _Part, topic: Topic, changes: Sequence[Change]) -> list[str]:
    if topic in _FILES:
        return [text(f"card.files-{topic}", files=file_changes(changes))]
    if part == "gone":
        return _said(topic, [one.item for one in changes], changes)
    added = [one.item for one in changes if one.kind == "added"]
    changed = [_changed(one) for one in changes if one.kind == "changed"]
    told = _said(topic, added, changes) if added else []
    if part == "changes" and topic in _MORE:
        told = [text("card.new", said=said) for said in told]
    return [*told, *filter(None, changed)]


_MORE: frozenset[Topic] = frozenset({"tables", "memory", "actions", "skills", "commands"})
"""What a version may have more of: it is called new."""


def _said(topic: Topic, items: Sequence[str], changes: Sequence[Change] = ()) -> list[str]:
    """Return the sentences for the names of a topic, one per list item."""
    match topic:
        case "tools":
            return tools(items)
        case "schedules":
            return [_planned(change) for change in changes]
        case "watches":
            changed = [change for change in changes if change.item in items]
            return [_looks(change.after or change.before) for change in changed]
        case "scope":
            return [keeps(items)]
        case "memory":
            return [notes(items)]
        case "prompt":
            return [text("card.prompt", count=_words(items[0]))]
        case "network" | "platforms":
            told = (hosts if topic == "network" else platforms)(items)
        case "tables" | "actions" | "skills" | "commands" | "requires_core":
            told = names([f"/{name}" for name in items] if topic == "commands" else items)
        case "file_paths" | "external_commands" | "pack_tools" | "depends_on" | "may_schedule":
            told = everything(items)
        case "signature" | "size" | "budget" | "programs" | "soul" | "skill_texts":
            return []
        case _:
            assert_never(topic)
    return [text(f"card.topic-{topic}", items=told)]


def _changed(change: Change) -> str:
    before, after = whole(change.before), whole(change.after)
    same = change.after == change.before
    item = code(change.item)
    match change.topic:
        case "signature":
            return text("card.signature")
        case "scope":
            return text(f"card.now-{change.after}")
        case "platforms":
            before, after = (platforms(side.split(", ")) for side in (change.before, change.after))
            named = text("card.only-in", items=after) if change.after else text("card.everywhere")
            return text("card.was-only-in", said=named, before=before) if change.before else named
        case "schedules":
            plan = text("card.plan", when=_when(change.after), what=item)
            return plan + (f", {text('card.other-work')}" if same else _was(_when(change.before)))
        case "watches":
            return _looks(change.after) + (
                "" if same else f", {text('card.looked', before=_looks(change.before))}"
            )
        case "budget":
            return _ceiling(change)
        case "pack_tools":
            return text("card.starts", item=item, after=after) + _was(before)
        case "tables":
            return text("card.columns", item=item, columns=_columns(change))
        case "prompt":
            now, was = _words(change.after), _words(change.before)
            return text("card.prompt", count=now) + _was(str(was)) if now != was else ""
        case "size":
            return kilobytes(int(change.after)) + _was(kilobytes(int(change.before)))
        case "requires_core":
            needs = text("card.topic-requires_core", items=after)
            return needs if change.after else text("card.requires-no-core")
        case _:
            return f"{item}: {after}{_was(before)}"


def _was(before: str) -> str:
    return f", {text('card.was', before=before)}"


def _columns(change: Change) -> str:
    """Return which columns are added and removed; both sides are names separated by commas.

    If both are equal, the rules differ, such as NOT NULL or a default.
    """
    before, after = change.before.split(", "), change.after.split(", ")
    new = ", ".join(name for name in after if name not in before)
    gone = ", ".join(name for name in before if name not in after)
    said = [text("card.column-new", names=code(new))] if new else []
    if gone:
        said.append(text("card.column-gone", names=code(gone)))
    same = "rules" if before == after else "order"
    return ", ".join(said) or text(f"card.same-{same}")


def _ceiling(change: Change) -> str:
    """Return the sentence for a changed limit of a pack; "0" = no limit."""
    unit = text(f"card.of-{change.item}")
    was = plain(change.before)
    if change.after == "0":
        return text("card.no-limit", unit=unit, before=was)
    at_most = text("card.at-most", number=plain(change.after), unit=unit)
    return at_most + (_was(was) if change.before != "0" else "")


def _planned(change: Change) -> str:
    off = not (change.asks or change.kind == "removed")
    return _plan(change.after or change.before, change.item, off=off)


def _plan(when: str, what: str, *, off: bool) -> str:
    said = text("card.plan", when=_when(when), what=code(what))
    return f"{said}, {text('card.off')}" if off else said


def _looks(told: str) -> str:
    """Word what a watch looks at, and how often; `told` holds both."""
    every, _, target = told.partition(" ")
    at = code(target) if target else text("card.what-it-keeps")
    return text("card.looks", at=at, when=_when(f"every {every}"))


def _when(said: str) -> str:
    try:
        return plain(text_in_words(said, UTC))
    except NotASchedule:
        return code(said)


def signature_line(signature: Signature, *, changed: bool = False) -> str:
    """Return the sentence about a pack's signature; `changed`: the signer is another one."""
    other = f"{text('card.other-signer')}\n" if changed else ""
    match signature.state:
        case "none":
            return other + text("card.unsigned")
        case "valid":
            return other + text("card.signed", name=plain(signature.name))
        case "unknown_key":
            return other + text("card.signed-by-key", key=code(signature.key or signature.key_id))
        case "wrong":
            return text("card.wrong", why=plain(signature.comment))
        case _:
            assert_never(signature.state)


def _size(summary: Summary) -> str:
    size, print_ = kilobytes(summary.size_bytes), code(summary.content[:16])
    return text("card.size", count=summary.files, size=size, fingerprint=print_)


def _words(size_bytes: str) -> int:
    """Return roughly how many words a text of so many bytes has."""
    return max(1, round(int(size_bytes) / 6))
