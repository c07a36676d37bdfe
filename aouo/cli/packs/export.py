"""`aouo pack export`: a pack as one file."""

from __future__ import annotations

from pathlib import Path

import click

from aouo.cli.context import json_option, print_json
from aouo.cli.packs.info import named
from aouo.cli.packs.test import key_option, read_key, signature_of
from aouo.packs.shipping.archive import SIGNATURE_FILE, SUFFIX, pack_archive
from aouo.packs.shipping.signing import verify
from aouo.packs.summary import sound_pack


@click.command()
@click.argument("pack", metavar="NAME|DIR")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="[default: NAME-VERSION.aouo]"
)
@key_option
@json_option
def export(pack: str, output: Path | None, key_file: Path | None, as_json: bool) -> None:
    """Write a sound pack to one file: the folder of that name here, or else what is installed.

    Hidden files and links are left out.

    With --key it is signed in the file. A signature that is in the folder goes along if it fits.
    """
    with named(pack, folder_first=True) as (folder, _):
        manifest = sound_pack(folder).manifest
        extra: dict[str, bytes] = {}
        if key_file is not None:
            extra[SIGNATURE_FILE] = signature_of(folder, read_key(key_file))
        else:
            verify(folder).refuse_wrong()
        target = output or Path(f"{manifest.name}-{manifest.version}{SUFFIX}")
        sha256, content, files, size_bytes = pack_archive(folder, target, extra=extra)
    if as_json:
        hashes = {"file": str(target), "sha256": sha256, "content": content}
        print_json({**hashes, "files": files, "size_bytes": size_bytes})
    else:
        click.echo(f"{target}: {files} files, {size_bytes} bytes")
        click.echo(f"content {content}")
