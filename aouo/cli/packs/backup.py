"""`aouo pack backup`, `restore`, `export`: a pack, or what it keeps, as one file."""

from __future__ import annotations

from pathlib import Path

import click

from aouo.cli.asking import PATIENCE_S, asked
from aouo.cli.context import current_home, json_option, print_json
from aouo.cli.packs.info import installed, named
from aouo.cli.packs.test import key_option, read_key, signature_of
from aouo.facts.errors import SetupError
from aouo.installer.packs import known
from aouo.packs.shipping.archive import SIGNATURE_FILE, SUFFIX, pack_archive
from aouo.packs.shipping.export import BACKUP_SUFFIX, Facts, Known, export_data
from aouo.packs.shipping.restoring import inspect
from aouo.packs.shipping.sealed import is_sealed
from aouo.packs.shipping.signing import verify
from aouo.packs.summary import sound_pack
from aouo.plumbing.clock import SystemClock
from aouo.store.opening import reading

_SHORTEST = 8

_passphrase_option = click.option(
    "--passphrase-file",
    type=click.Path(path_type=Path),
    help="A file whose first line is the passphrase.",
)


@click.command()
@click.argument("name")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="[default: NAME-DATE.backup.aouo]"
)
@click.option("--encrypt", is_flag=True, help="Lock it with a passphrase, which is asked for.")
@_passphrase_option
@json_option
def backup(
    name: str, output: Path | None, encrypt: bool, passphrase_file: Path | None, as_json: bool
) -> None:
    """Write all that the pack NAME keeps to one file: databases, memory and files.

    The bot may go on running.
    """
    now = SystemClock().now()
    pack = installed().get(name)
    target = output or Path(f"{name}-{now:%Y-%m-%d}{BACKUP_SUFFIX}")
    passphrase = ""
    if passphrase_file is not None:
        passphrase = _read_passphrase(passphrase_file)
    elif encrypt:
        passphrase = click.prompt("Passphrase", hide_input=True, confirmation_prompt=True, err=True)
    if (encrypt or passphrase_file) and len(passphrase) < _SHORTEST:
        raise click.UsageError(f"A passphrase has at least {_SHORTEST} characters.")
    kept = export_data(
        current_home(),
        name,
        target,
        version=pack.manifest.version if pack else "",
        now=now,
        known=_known(name),
        passphrase=passphrase,
    )
    if as_json:
        print_json({"file": str(target), "encrypted": bool(passphrase), **kept.listed()})
    else:
        locked = ", locked with your passphrase: nobody can read it without" if passphrase else ""
        click.echo(f"{target}: {_told(kept)}{locked}")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask.")
@_passphrase_option
@json_option
def restore(file: Path, yes: bool, passphrase_file: Path | None, as_json: bool) -> None:
    """Put back what a pack kept when FILE was made. A running bot goes on.

    What is there now is replaced, and kept under data/backups.
    """
    passphrase = ""
    if passphrase_file is not None:
        passphrase = _read_passphrase(passphrase_file)
    elif is_sealed(file):
        passphrase = click.prompt("Passphrase", hide_input=True, err=True)
    kept = inspect(file, passphrase)
    click.echo(f"{file}: {_told(kept)}", err=True)
    _tell_version(kept)
    if not yes:
        click.confirm(f"Replace what {kept.pack} keeps now?", abort=True, err=True)
    done = asked(
        "pack_restore",
        timeout_s=PATIENCE_S,
        pack=kept.pack,
        file=str(file.absolute()),
        passphrase=passphrase,
    )
    if problem := done["schedules_problem"]:
        click.echo(f"Its schedules are as they were: {problem}.", err=True)
    if as_json:
        print_json({"before": done["before"], **kept.listed()})
        return
    click.echo(f"{kept.pack} is restored.")
    if done["before"]:
        click.echo(f"What was there before: {done['before']}")


def _known(name: str) -> Known:
    file = current_home().database
    if not file.exists():
        return Known(schedules=[])
    with reading(file) as tx:
        return known(tx, name)


def _tell_version(kept: Facts) -> None:
    """Print a note if another version or scope than the installed one wrote the backup."""
    pack = installed().get(kept.pack)
    if pack is None:
        click.echo(f"{kept.pack} is not installed here; what it kept waits for it.", err=True)
        return
    here = pack.manifest.version
    if kept.version not in ("", here):
        click.echo(f"Another version: {kept.version} kept this, {here} is installed.", err=True)
    person = pack.manifest.schema.scope == "person"
    if kept.owners and person == ("" in kept.owners):
        was, now = (
            ("everybody shared", "each person apart")
            if person
            else ("each person kept apart", "everybody together")
        )
        click.echo(
            f"It holds rows that {was}. {kept.pack} {here} keeps rows for {now}, "
            "and will not see those; `aouo pack list` says where they lie.",
            err=True,
        )


def _told(kept: Facts) -> str:
    files = "1 file" if len(kept.files) == 1 else f"{len(kept.files)} files"
    version = f" {kept.version}" if kept.version else ""
    return f"{kept.pack}{version}, {files}, {kept.size_bytes} bytes, of {kept.made_at[:16]}"


def _read_passphrase(file: Path) -> str:
    try:
        lines = file.read_text("utf-8").splitlines()
    except OSError as error:
        raise SetupError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise SetupError(f"{file} cannot be read: it is no text.") from error
    if not lines or not lines[0]:
        raise SetupError(f"{file} has no passphrase in its first line.")
    return lines[0]


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
