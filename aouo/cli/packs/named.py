"""Finds the pack that an argument names: an installed one, a folder, a file, an address."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator
from pathlib import Path

import click

from aouo.cli.context import current_home, load
from aouo.facts.errors import PackError
from aouo.installer.installed import scan_at_rest
from aouo.packs.format.problems import did_you_mean
from aouo.packs.library import Library
from aouo.packs.load import load_pack
from aouo.packs.shipping.signing import verify
from aouo.packs.shipping.sources import fetch_source
from aouo.packs.summary import Summary, sound_pack, summarize
from aouo.plumbing.trees import workshop


def installed() -> Library:
    """Return the packs of the home as the bot loads them, with those that it leaves out."""
    home = current_home()
    settings = load(home).settings
    return scan_at_rest(home, settings.packs, settings.tools.enabled, left_out_too=True)


@contextlib.contextmanager
def named(text: str, *, folder_first: bool = False) -> Generator[tuple[Path, bool]]:
    """Yield the folder of the pack that `text` names, and whether it is an installed one; an
    unpacked one is removed afterwards.

    `folder_first`: a pack's folder at this path counts before an installed pack.

    Raises:
        PackError: there is no such pack.
    """
    library = installed()
    found = library.get(library.named(text))
    if folder_first and (Path(text) / "pack.yml").is_file():
        yield Path(text), False
    elif found is not None:
        yield found.folder.resolve(), True
    elif text in library.broken:
        first = library.broken[text][0]
        raise PackError(f"The pack {text} does not load: {first}.", fix="See `aouo pack list`.")
    elif "://" in text or Path(text).expanduser().exists():
        with workshop("aouo-app-") as work:
            yield asyncio.run(fetch_source(text, work)), False
    else:
        hint = did_you_mean(text, library.names)
        raise PackError(
            f"There is no pack, folder or file {text}{hint or '.'}",
            fix="See `aouo pack list`.",
        )


def summary_of(folder: Path, *, is_installed: bool) -> Summary:
    """Return what a pack may do, read as the bot reads it; its warnings go to stderr.

    Raises:
        PackError: it does not load, or it is not installed and its signature is wrong.
    """
    signature = verify(folder, load(current_home()).settings.packs.trusted_keys)
    if not is_installed:
        signature.refuse_wrong()
    loaded = load_pack(folder)
    for problem in loaded.problems:
        if loaded.pack is not None:
            click.echo(f"{problem.severity}: {problem}", err=True)
    return summarize(sound_pack(folder, strict=False), signature)
