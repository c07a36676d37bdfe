"""Builds the card of /memory: what a pack remembers here, where it came from, and its buttons."""

from __future__ import annotations

from datetime import datetime, tzinfo

from aouo.commands.registry import CommandCall
from aouo.facts.history import Version
from aouo.facts.notices_memory import MemoryChange, MemoryFile, MemoryShown
from aouo.memory.files import MemoryFiles
from aouo.store import memory_versions as versions
from aouo.store.database import Tx
from aouo.store.tenants import tenant_of

_CHANGES = 3


def card(
    tx: Tx,
    call: CommandCall,
    pack: str,
    files: MemoryFiles,
    zone: tzinfo | None,
    *,
    undone: str = "",
    nothing_undone: bool = False,
    edited: tuple[str, ...] = (),
    emptied: str = "",
) -> MemoryShown:
    """Return what the files hold now, the newest changes, and the change that can be undone."""
    tenant = tenant_of(tx, call.inbound)
    newest = versions.newest(tx, pack, tenant, _CHANGES)
    undo = versions.undoable(tx, pack, tenant)
    by_hand = tuple(
        name
        for name in files.names
        if files.is_readable(name) and versions.is_edited(tx, pack, tenant, name, files.text(name))
    )
    return MemoryShown(
        pack,
        tuple(kept(files, name) for name in files.names),
        tuple(_change(tx, call, version, zone) for version in newest),
        undo.id if undo else 0,
        edited or by_hand,
        undone,
        nothing_undone,
        _message_here(call, newest[0]) if newest else 0,
        emptied,
    )


def kept(files: MemoryFiles, name: str) -> MemoryFile:
    text = files.shown(name)
    return MemoryFile(files.file(name), len(text.encode("utf-8", "replace")), text)


def _change(tx: Tx, call: CommandCall, version: Version, zone: tzinfo | None) -> MemoryChange:
    before, after = version.before.splitlines(), version.after.splitlines()
    cause, person = version.cause, call.inbound.person.id
    return MemoryChange(
        version.id,
        version.file,
        cause.origin,
        datetime.fromisoformat(version.at).astimezone(zone),
        _new_in(after, before),
        _new_in(before, after),
        versions.words_of(tx, version) if cause.origin in ("tool", "consolidate") else "",
        "somebody" if cause.person and cause.person != person else "",
        emptied=cause.origin == "hand" and bool(cause.person) and not version.after,
        on_page=cause.origin == "hand" and cause.platform == "web",
        inferred=bool(cause.sources) and all(one.basis == "inferred" for one in cause.sources),
    )


def _new_in(lines: list[str], others: list[str]) -> tuple[str, ...]:
    there = set(others)
    return tuple(line for line in lines if line.strip() and line not in there)


def _message_here(call: CommandCall, version: Version) -> int:
    """Return the message of this chat that the change came from, 0 = none, for the card's reply."""
    address, cause = call.inbound.address, version.cause
    here = (cause.platform, cause.chat_id) == (address.platform, address.chat_id)
    return cause.message_id if here and cause.origin == "tool" else 0
