"""Fetches a pack, checks it, and stores it as an offer that the owner accepts or declines."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from aouo.facts.errors import PackError
from aouo.facts.ids import ulid
from aouo.facts.ports import iso, stamp
from aouo.facts.records import Change, ChangeKind, ChangeState, Install
from aouo.installer.changes import PackKit, clear
from aouo.packs.compare import Difference, compare
from aouo.packs.evals.process import run_evals
from aouo.packs.format.problems import did_you_mean
from aouo.packs.load import load_pack
from aouo.packs.shipping.archive import Places, fetch_source
from aouo.packs.shipping.signing import Signature
from aouo.packs.summary import Summary, summarize, summarize_folder
from aouo.plumbing import failpoint
from aouo.plumbing.trees import remove
from aouo.store import installs
from aouo.store.database import Tx

_OFFER_STANDS = timedelta(days=1)


async def offer(
    kit: PackKit, source: str, person: str, *, upgrade: str = "", lasting: bool = True
) -> tuple[Change, Difference]:
    """Fetch a pack (a folder, a `.aouo`, an https address), check it, and store the offer,
    which replaces earlier offers of this pack.

    `upgrade` is the pack that it has to be a version of, "" = any; with it, `source` "" means
    where the pack came from before. Not `lasting`: the source will not exist later, so it is
    not stored.

    Raises:
        PackError: it cannot be installed; nothing is left of it.
    """
    source = source or await _source_of(kit, upgrade)
    change_id = ulid().lower()
    waiting = Places.of(kit.home.packs, change_id, "").waiting
    try:
        app = await fetch_source(source, waiting)
        return await _consider(kit, change_id, source if lasting else "", person, app, upgrade)
    except BaseException:
        await asyncio.to_thread(remove, waiting)
        raise


async def _source_of(kit: PackKit, name: str) -> str:
    """Return where a pack came from. Raises `PackError` if that is not known."""
    install = await kit.database.read(lambda tx: installs.of(tx, name))
    if install is None or not install.source:
        known = tuple(await kit.database.read(installs.all_of))
        raise PackError(
            f"{name!r} was not installed from anywhere{did_you_mean(name, known) or '.'}",
            fix="Write its name, and after it the folder, file or address of the new version.",
        )
    return install.source


async def _consider(
    kit: PackKit, change_id: str, source: str, person: str, app: Path, upgrade: str
) -> tuple[Change, Difference]:
    new = await asyncio.to_thread(summarize_folder, app, kit.trusted_keys())
    if upgrade and new.name != upgrade:
        raise PackError(f"That is the pack {new.name}, not {upgrade}.")
    kind = _kind(kit, new.name)
    if upgrade and kind == "install":
        raise PackError(f"{upgrade} is not installed.", fix="Use `aouo pack install`.")
    before = await kit.database.read(lambda tx: installs.of(tx, new.name))
    old = await asyncio.to_thread(_installed, kit, new.name, before)
    same = before is not None and old is not None and old.content == new.content
    if not same:
        await asyncio.to_thread(_check, kit, app)
    change = Change(
        change_id,
        new.name,
        kind,
        "offered",
        new.version,
        new.content,
        source,
        new.signature.key,
        person,
        stamp(kit.clock),
    )
    await _write_down(kit, change)
    keeps = kind == "install" and await asyncio.to_thread(kit.stores.keeps, new.name)
    found = replace(
        compare(old, new),
        elsewhere=not upgrade and _is_elsewhere(kind, before, change),
        finds_data=keeps,
        same=same,
    )
    return change, found


async def _write_down(kit: PackKit, change: Change) -> None:
    def write(tx: Tx) -> tuple[str, ...]:
        closed = installs.close_asked(tx, change.pack, change.created_at)
        installs.offer(tx, change)
        return closed

    closed = await kit.database.transact(write, durable=True)
    await clear(kit.home, change.pack, closed)
    failpoint.reached("after a pack is offered")


async def _play(kit: PackKit, change: Change) -> None:
    """Run a new version's own evals; only after a yes, since they run its tools.

    Raises:
        PackError: it does not pass; nothing of it is kept.
    """
    app = Places.of(kit.home.packs, change.id, change.pack).app
    if change.kind != "upgrade" or not any((app / "evals").glob("*.yml")):
        return
    try:
        results = await run_evals(app, pack=change.pack, home=kit.home.path)
        if failed := [f"{one.name} ({one.file})" for one in results if not one.passed]:
            raise PackError(
                f"{change.pack} {change.version} does not pass its own evals: {'; '.join(failed)}.",
                fix="What is installed stays as it is.",
            )
    except PackError as error:
        await _close(kit, change, "failed", str(error))
        raise


async def _close(kit: PackKit, change: Change, state: ChangeState, why: str = "") -> None:
    """Settle a change that was never begun, and remove its folders.

    Raises:
        PackError: it was begun or settled meanwhile, so its folders stay.
    """
    now = stamp(kit.clock)
    closed = await kit.database.transact(lambda tx: installs.close(tx, change.id, state, now, why))
    if not closed:
        raise settled()
    await asyncio.to_thread(Places.of(kit.home.packs, change.id, change.pack).clear)


def _check(kit: PackKit, app: Path) -> None:
    """Check that the packs it needs are there, and that stored databases can be migrated to it.

    Raises:
        PackError: a pack is missing, or a database cannot be.
    """
    pack = load_pack(app).pack
    if pack is None:
        return
    for need in pack.manifest.depends_on:
        if need.name not in kit.library().packs:
            raise PackError(f"{pack.name} needs the pack {need.name}.", fix="Install it first.")
    kit.stores.check(pack)


def _installed(kit: PackKit, name: str, install: Install | None) -> Summary | None:
    """Sum up the installed pack of this name; None = none that loads."""
    pack = kit.library().get(name)
    if pack is None:
        return None
    key = install.signer if install else ""
    known = {text: name for name, text in kit.trusted_keys().items()}
    signature = Signature("valid" if key in known else "unknown_key", key=key) if key else None
    return summarize(pack, signature)


def _kind(kit: PackKit, name: str) -> ChangeKind:
    """Return whether this is an install or an upgrade.

    Raises:
        PackError: its place holds something that must not be replaced.
    """
    target = kit.home.packs / name
    if target.is_symlink():
        raise PackError(
            f"{name} is linked from {target.resolve()}.",
            fix=f"Edit it there, or remove the link first: aouo pack uninstall {name}",
        )
    installed = kit.library().get(name)
    if installed and installed.folder.parent != kit.home.packs:
        raise PackError(
            f"{name} comes from {installed.folder}, a folder of packs.scan_dirs.",
            fix="Change it there, or take that folder out of packs.scan_dirs.",
        )
    if installed and installed.folder != target:
        raise PackError(
            f"{name} is the pack in the folder {installed.folder}.",
            fix=f"Give that folder the name {name}, or remove it.",
        )
    return "upgrade" if target.exists() else "install"


async def look(kit: PackKit, change_id: str) -> Change | None:
    """Return a change as it is stored."""
    return await kit.database.read(lambda tx: installs.get(tx, change_id))


async def decline(kit: PackKit, change_id: str) -> Change:
    """Decline an offer and remove what was fetched for it.

    Raises:
        PackError: the offer is closed.
    """
    change = await _offered(kit, change_id)
    await _close(kit, change, "declined")
    return change


async def agreed(kit: PackKit, change_id: str, person: str) -> Change:
    """Return an offered change in the name of the person who accepts it, after its evals.

    Raises:
        PackError: the offer is closed or stale, or its evals fail; then nothing is kept.
    """
    change = replace(await _offered(kit, change_id), person=person)
    if is_stale(kit, change):
        raise settled()
    await _play(kit, change)
    return change


def is_stale(kit: PackKit, change: Change) -> bool:
    """Whether the change was offered longer ago than an offer stands."""
    return change.created_at < iso(kit.clock.now() - _OFFER_STANDS)


async def _offered(kit: PackKit, change_id: str) -> Change:
    change = await kit.database.read(lambda tx: installs.get(tx, change_id))
    if change is None or change.state != "offered":
        raise settled()
    return change


def _is_elsewhere(kind: ChangeKind, before: Install | None, change: Change) -> bool:
    """Whether neither source nor key ties a new version to the installed one.

    The caller does not ask if a person named both the pack and the source.
    """
    if kind != "upgrade":
        return False
    if before is None:
        return True
    return before.source != change.source and not (before.signer and before.signer == change.signer)


def settled() -> PackError:
    """Return the error for an offer that is closed."""
    return PackError("That question is closed.", fix="Ask for the pack once more.")
