"""Compares two versions of an app: what the new one asks that the old one did not. Pure.

Consent was given for what was shown. An upgrade that asks for the same or for less needs none,
unless what runs and speaks in it changed and no trusted key signed both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from aouo.packs.data.rows import Column
from aouo.packs.format.manifest import Budget
from aouo.packs.format.problems import GROUP_TOOLS, leading
from aouo.packs.summary import Matter, Planned, Summary, Watched

Topic: TypeAlias = Literal[
    "signature",
    "tools",
    "pack_tools",
    "network",
    "file_paths",
    "external_commands",
    "platforms",
    "may_schedule",
    "schedules",
    "watches",
    "scope",
    "tables",
    "memory",
    "actions",
    "skills",
    "commands",
    "prompt",
    "budget",
    "requires_core",
    "depends_on",
    "size",
    "programs",
    "soul",
    "skill_texts",
]
_MATTERS: tuple[Matter, ...] = ("programs", "soul", "skill_texts")
_Kind: TypeAlias = Literal["added", "removed", "changed"]


@dataclass(frozen=True, slots=True)
class Change:
    """One difference; `asks`: it is new or wider, so the owner has to agree."""

    topic: Topic
    kind: _Kind
    item: str
    before: str = ""
    after: str = ""
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """From one version (None: a first install) to another.

    `signer_changed`: the installed one was signed by a key, and this is not signed by it.
    `older`: a version before the installed one. `elsewhere`: nothing says that it is by the same
    author, since it came from another place and no key of the installed one's signed it.
    `finds_data`: a first install that gets what a pack of this name left behind. `same`: this very
    pack is installed already.
    """

    old: Summary | None
    new: Summary
    changes: tuple[Change, ...]
    signer_changed: bool = False
    older: bool = False
    elsewhere: bool = False
    finds_data: bool = False
    same: bool = False

    @property
    def asks(self) -> tuple[Change, ...]:
        """Only what is new or wider."""
        return tuple(change for change in self.changes if change.asks)

    @property
    def needs_consent(self) -> bool:
        """Whether somebody has to agree: always to a first install."""
        return self.old is None or self.older or self.elsewhere or bool(self.asks)


def compare(old: Summary | None, new: Summary) -> Difference:
    """Hold a version against the one that is installed."""
    if old is None:
        return Difference(None, new, ())
    signer_changed = bool(old.signature.key) and old.signature.key != new.signature.key
    changes = (
        *_signature(old, new, signer_changed),
        *_permissions(old, new),
        *_parts(old, new),
        *_contents(old, new),
    )
    older = leading(new.version) < leading(old.version)
    return Difference(old, new, changes, signer_changed, older)


def _signature(old: Summary, new: Summary, changed: bool) -> Iterator[Change]:
    before, after = old.signature, new.signature
    if (before.state, before.key) != (after.state, after.key):
        yield Change("signature", "changed", "", before.key, after.key, asks=changed)


def _permissions(old: Summary, new: Summary) -> Iterator[Change]:
    had = _expanded(old.tools)
    yield from _listed("tools", old.tools, new.tools, lambda tool: _expanded((tool,)) <= had)
    yield from _tools(old, new)
    yield from _listed("network", old.network, new.network, lambda x: _host_open(x, old.network))
    yield from _listed(
        "file_paths", old.file_paths, new.file_paths, lambda path: _below(path, old.file_paths)
    )
    yield from _listed("external_commands", old.external_commands, new.external_commands)
    yield from _platforms(old.platforms, new.platforms)
    if old.may_schedule != new.may_schedule:
        kind: _Kind = "added" if new.may_schedule else "removed"
        yield Change("may_schedule", kind, "", asks=new.may_schedule)
    yield from _schedules(old, new)
    yield from _watches(old, new)
    if old.scope != new.scope:  # what was kept is not seen any more, and new rows may be by all
        yield Change("scope", "changed", "", old.scope, new.scope, asks=True)
    yield from budget_changes(old.budget, new.budget)


def _parts(old: Summary, new: Summary) -> Iterator[Change]:
    """Compare what runs and speaks; it needs a yes unless one trusted key signed both."""
    vouched = old.signature.key == new.signature.key and (
        old.signature.state == new.signature.state == "valid"
    )
    matters: dict[str, Matter] = {
        name: part.matter for name, part in (*old.parts.items(), *new.parts.items())
    }
    for name in sorted(matters, key=lambda name: (_MATTERS.index(matters[name]), name)):
        before, after = old.parts.get(name), new.parts.get(name)
        if before is None or after is None or before.sha256 != after.sha256:
            kind: _Kind = "added" if before is None else "changed" if after else "removed"
            sizes = tuple("" if part is None else str(part.size_bytes) for part in (before, after))
            yield Change(matters[name], kind, name, *sizes, asks=not vouched)


def _contents(old: Summary, new: Summary) -> Iterator[Change]:
    """Compare what needs no yes, since the permissions bound it."""
    yield from _tables(old.tables, new.tables)
    yield from _listed("memory", old.memory, new.memory, _always)
    yield from _listed("actions", old.actions, new.actions, _always)
    yield from _listed("skills", old.skills, new.skills, _always)
    yield from _listed("commands", old.commands, new.commands, _always)
    yield from _listed("depends_on", old.depends_on, new.depends_on, _always)
    if old.requires_core != new.requires_core:
        yield Change("requires_core", "changed", "", old.requires_core, new.requires_core)
    if old.prompt_bytes != new.prompt_bytes:
        yield Change("prompt", "changed", "", str(old.prompt_bytes), str(new.prompt_bytes))
    if old.size_bytes != new.size_bytes:
        yield Change("size", "changed", "", str(old.size_bytes), str(new.size_bytes))


def _always(_: str) -> bool:
    return True


def _never(_: str) -> bool:
    return False


def _listed(
    topic: Topic, old: Iterable[str], new: Iterable[str], covered: Callable[[str], bool] = _never
) -> Iterator[Change]:
    """Compare two lists; a new item that the old list `covered` needs no yes."""
    before, after = dict.fromkeys(old), dict.fromkeys(new)
    for item in after:
        if item not in before:
            yield Change(topic, "added", item, asks=not covered(item))
    for item in before:
        if item not in after:
            yield Change(topic, "removed", item)


def _expanded(names: Iterable[str]) -> frozenset[str]:
    """Tools for groups; a whole server stands for itself."""
    return frozenset(tool for name in names for tool in GROUP_TOOLS.get(name) or (name,))


def _tools(old: Summary, new: Summary) -> Iterator[Change]:
    before = {tool.name: tool for tool in old.pack_tools}
    after = {tool.name: tool for tool in new.pack_tools}
    yield from _listed("pack_tools", before, after)
    for name in (name for name in before if name in after):
        was, now = before[name], after[name]
        if (was.runs, was.kind) != (now.runs, now.kind):
            asks = now.kind == "command"
            yield Change("pack_tools", "changed", name, was.runs, now.runs, asks)


def _host_open(pattern: str, old: Iterable[str]) -> bool:
    """Whether whatever `pattern` lets through was let through before.

    `*` is any host and `*.x` what is below x, both on the usual ports unless they name one.
    """
    name, port = _host(pattern)
    for known, its_port in map(_host, old):
        if port != its_port:
            continue
        if known in ("*", name) or (known.startswith("*.") and name.endswith(known[1:])):
            return True
    return False


def _host(pattern: str) -> tuple[str, str]:
    text = pattern.strip().lower()
    name, colon, port = text.rpartition(":")
    return (name, port) if colon and port.isdigit() else (text, "")


def _below(path: str, old: Iterable[str]) -> bool:
    """Whether `path` is in a folder that was open; a pattern covers itself alone."""
    if ".." in path.split("/"):
        return False
    plain = [known.rstrip("/") for known in old if known.strip() and not set(known) & set("*?[")]
    return any(path.rstrip("/") == known or path.startswith(f"{known}/") for known in plain)


def _platforms(old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[Change]:
    """No platform named is every one."""
    if bool(old) == bool(new):
        yield from _listed("platforms", old, new)
    elif new:
        yield Change("platforms", "changed", "", "", ", ".join(new))
    else:
        yield Change("platforms", "changed", "", ", ".join(old), "", asks=True)


def _schedules(old: Summary, new: Summary) -> Iterator[Change]:
    """One that is on asks; one that is off is only shown, since switching it on is a yes."""
    before = {job.id: job for job in old.schedules}
    after = {job.id: job for job in new.schedules}
    for name, job in after.items():
        was = before.get(name)
        if was is None:
            yield Change("schedules", "added", name, "", job.schedule, _runs(new, job))
        elif was != job:
            wider = _runs(new, job) and (was.schedule != job.schedule or not _runs(old, was))
            yield Change("schedules", "changed", name, was.schedule, job.schedule, wider)
    for name, job in before.items():
        if name not in after:
            yield Change("schedules", "removed", name, job.schedule)


def _watches(old: Summary, new: Summary) -> Iterator[Change]:
    """One that looks asks, and so does one that looks elsewhere, more often or is quiet no more."""
    before = {watch.id: watch for watch in old.watches}
    after = {watch.id: watch for watch in new.watches}
    for name, watch in after.items():
        was = before.get(name)
        told = _looks(watch)
        if was is None:
            yield Change("watches", "added", name, "", told, new.may_schedule)
        elif was != watch:
            yield Change("watches", "changed", name, _looks(was), told, new.may_schedule)
    for name, watch in before.items():
        if name not in after:
            yield Change("watches", "removed", name, _looks(watch))


def _looks(watch: Watched) -> str:
    """Return how often a watch looks, and at what, separated by a space."""
    return f"{watch.every} {watch.target}".strip()


def _runs(of: Summary, job: Planned) -> bool:
    return of.may_schedule and job.enabled


def budget_changes(old: Budget, new: Budget) -> Iterator[Change]:
    """A ceiling that rises or goes asks; 0 is none."""
    pairs = (
        ("daily_usd", old.daily_usd, new.daily_usd),
        ("daily_tokens", float(old.daily_tokens), float(new.daily_tokens)),
        ("turn_tokens", float(old.turn_tokens), float(new.turn_tokens)),
    )
    for key, before, after in pairs:
        if before != after:
            wider = bool(before) and (not after or after > before)
            yield Change("budget", "changed", key, f"{before:.10g}", f"{after:.10g}", wider)


def _tables(
    old: Mapping[str, tuple[Column, ...]], new: Mapping[str, tuple[Column, ...]]
) -> Iterator[Change]:
    yield from _listed("tables", old, new, _always)
    for name in old:
        if name in new and old[name] != new[name]:
            before = ", ".join(column.name for column in old[name])
            after = ", ".join(column.name for column in new[name])
            yield Change("tables", "changed", name, before, after)
