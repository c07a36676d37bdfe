"""Finds the folders that may be packs, and says which of them are not even read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from aouo.facts.errors import PackError
from aouo.packs.format import manifest as manifests
from aouo.packs.shipping.archive import content_hash


def candidates(root: Path) -> Iterator[Path]:
    """Return the folders below `root` that are packs or dangling links; a pack is its own."""
    if os.path.lexists(root / manifests.FILE):
        yield root
        return
    try:
        children = sorted(root.iterdir())
    except OSError:
        return
    for child in children:
        if child.name.startswith((".", "_")):
            continue
        dangling = child.is_symlink() and not child.exists()
        if dangling or os.path.lexists(child / manifests.FILE):
            yield child


def unusable(folder: Path, pin: str) -> str:
    """Why a folder is not even read, "" = it is."""
    if folder.is_symlink() and not folder.exists():
        return f"the link {folder} leads nowhere; restore its target or remove it"
    if pin and folder.is_symlink():
        return (
            f"a link to {folder.resolve()} is where it was installed; remove the link and "
            "install it again, or uninstall it and link it with `aouo pack link`"
        )
    try:
        changed = bool(pin) and content_hash(folder) != pin
    except PackError as error:
        return str(error)
    if changed:
        return (
            f"its files are not those that were installed: `aouo pack upgrade {folder.name}` puts "
            f"those back; if you changed them, `aouo pack install {folder}` shows what they may do "
            "now and asks for a yes"
        )
    return ""
