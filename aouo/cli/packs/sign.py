"""`aouo pack keygen` and `sign`: make a key, and sign a pack with it."""

from __future__ import annotations

import os
from pathlib import Path

import click

from aouo.cli.context import json_option, print_json
from aouo.facts.errors import SetupError
from aouo.packs.shipping.archive import SIGNATURE_FILE
from aouo.packs.shipping.signing import SecretKey, new_key, read_secret_key, sign_app
from aouo.packs.summary import sound_pack
from aouo.plumbing.home import write_atomically

key_option = click.option(
    "--key",
    "key_file",
    type=click.Path(path_type=Path),
    help="The secret key of `aouo pack keygen`.",
)


def read_key(file: Path) -> SecretKey:
    """Return the secret key in a file.

    Raises:
        SetupError: the file cannot be read, or holds no key.
    """
    try:
        return read_secret_key(file.read_text("utf-8"))
    except OSError as error:
        raise SetupError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise SetupError(f"{file} cannot be read: it is no text.") from error


def signature_of(folder: Path, key: SecretKey) -> bytes:
    """Return the content of `aouo.sig` for a sound pack.

    Raises:
        PackError: the pack is broken.
    """
    manifest = sound_pack(folder).manifest
    return sign_app(folder, key, f"{manifest.name} {manifest.version}")


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default="aouo.key")
@json_option
def keygen(file: Path, as_json: bool) -> None:
    """Make a key to sign packs with: the secret half in FILE, the public one is printed."""
    key = new_key()
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise SetupError(f"{file} is there already.", fix="Name another file.") from error
    except OSError as error:
        raise SetupError(f"{file} cannot be written: {error.strerror or error}.") from error
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.write(key.text)
    if as_json:
        print_json({"file": str(file), "public_key": key.public})
        return
    click.echo(f"The secret key is in {file}: keep it, and show it to nobody.")
    click.echo(f"The public key is {key.public}")
    click.echo("Who trusts you runs: aouo config set packs.trusted_keys.NAME PUBLIC_KEY")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@key_option
@json_option
def sign(folder: Path, key_file: Path | None, as_json: bool) -> None:
    """Sign the pack in FOLDER, in its file aouo.sig; sign again after each change."""
    if key_file is None:
        raise click.UsageError("Name your key: --key FILE. `aouo pack keygen` makes one.")
    key = read_key(key_file)
    target = folder / SIGNATURE_FILE
    write_atomically(target, signature_of(folder, key).decode(), mode=0o644)
    if as_json:
        print_json({"file": str(target), "public_key": key.public})
    else:
        click.echo(f"{folder} is signed, in {target}.")
