"""`aouo pack info`, `list`, `validate`, `link`: say what packs are, and find the one named."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator
from dataclasses import asdict, replace
from pathlib import Path

import click

from aouo.cli.asking import heading
from aouo.cli.context import current_home, json_option, load, print_json
from aouo.cli.packs.install import refresh
from aouo.facts.errors import PackError, SetupError
from aouo.installer.installed import scan_at_rest
from aouo.packs.actions.slots import Here, Misread
from aouo.packs.authoring import validate as find_problems
from aouo.packs.format.problems import did_you_mean, errors
from aouo.packs.library import Library, link
from aouo.packs.load import Pack, load_pack
from aouo.packs.settings import Kept
from aouo.packs.shipping.archive import fetch_source
from aouo.packs.shipping.signing import verify
from aouo.packs.summary import Summary, sound_pack, summarize
from aouo.plumbing.client import NoAnswer, ask
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.home import Home
from aouo.plumbing.trees import workshop
from aouo.plumbing.zones import zone_of
from aouo.words.catalogue import text


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
            f"There is no pack, folder or file {text}{hint or '.'}", fix="See `aouo pack list`."
        )


def _summary_of(folder: Path, *, is_installed: bool) -> Summary:
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


RELOAD = "Run `aouo reload`."


def unread(home: Home) -> dict[str, str]:
    """Return by pack why the running bot's version differs from its folder; {} without a bot."""
    from aouo.words.catalogue import text

    try:
        kinds: dict[str, str] = ask(home, "pack_unread").get("unread", {})
    except NoAnswer:  # a bot of another version, or a busy one
        return {}
    return {name: text(f"card.unread-{kind}") for name, kind in kinds.items()}


@click.command()
@click.argument("pack", metavar="NAME|DIR|FILE|URL")
@json_option
def info(pack: str, as_json: bool) -> None:
    """Say what a pack is, what it may do, what it brings and who signed it."""
    from aouo.words.markdown.render import as_text
    from aouo.words.packs import install_card

    with named(pack) as (folder, is_installed):
        summary = _summary_of(folder, is_installed=is_installed)
        if as_json:
            print_json({**asdict(replace(summary, translations={})), "installed": is_installed})
            return
        click.echo(as_text(install_card(summary)))
        if is_installed:
            click.echo(f"\nInstalled: {folder}")


@click.command()
@click.argument("pack", metavar="NAME|DIR|FILE|URL")
@json_option
def permissions(pack: str, as_json: bool) -> None:
    """Say what a pack may do."""
    from aouo.words.markdown.render import as_text
    from aouo.words.packs import permissions_card

    with named(pack) as (folder, is_installed):
        summary = _summary_of(folder, is_installed=is_installed)
    if as_json:
        keys = ("name", "version", "tools", "pack_tools", "network", "file_paths")
        keys += ("external_commands", "platforms", "may_schedule", "schedules", "watches", "scope")
        facts = asdict(summary)
        print_json({key: facts[key] for key in keys})
    else:
        click.echo(as_text(permissions_card(summary)))


@click.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the installed packs, also those that do not load."""
    home = current_home()
    settings = load(home).settings
    library, waiting = scan_at_rest(home, settings.packs, settings.tools.enabled), unread(home)
    if as_json:
        print_json({**library.listed(), "unread": waiting})
        return
    if library.names:
        heading(f"{'PACK':<16} {'VERSION':<8} FOLDER")
    for name in library.names:
        found = library.packs[name]
        click.echo(f"{name:<16} {found.manifest.version:<8} {found.folder.resolve()}")
        for problem in library.warnings.get(name, ()):
            click.echo(f"  warning: {problem}")
    for name, problems in library.broken.items():
        click.echo(f"{name:<16} broken")
        for problem in problems:
            click.echo(f"  {problem.severity}: {problem}")
    for name, why in waiting.items():
        click.echo(f"{name:<16} {why}")
    if waiting:
        click.echo(RELOAD)
    if not library.names and not library.broken:
        click.echo(f"No pack is installed in {home.packs}. Run `aouo pack install notes`, or DIR.")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@json_option
def validate(folder: Path, as_json: bool) -> None:
    """Check the pack in FOLDER, strictly: 0 if it is sound, else 1."""
    name, problems = load_pack(folder).name, find_problems(folder, now=SystemClock().now())
    sound = not errors(problems)
    if as_json:
        print_json(
            {"ok": sound, "pack": name, "problems": [asdict(problem) for problem in problems]}
        )
    else:
        for problem in problems:
            click.echo(f"{problem.severity}: {problem}", err=problem.severity == "error")
        click.echo(f"{name} is {'sound' if sound else 'not sound'}.")
    if not sound:
        click.get_current_context().exit(1)


@click.command("set")
@click.argument("pack", metavar="NAME")
@click.argument("name", metavar="SETTING")
@click.argument("value", required=False, default=None)
def set_(pack: str, name: str, value: str | None) -> None:
    """Set a setting of an installed pack, "" = back to its default. A secret is asked for, and
    never an argument, since the shell would keep it."""
    home, manifest = current_home(), _installed(pack).manifest
    if name in manifest.secrets and value:
        raise SetupError("A secret is no argument.", fix=f"Run `aouo pack set {pack} {name}`.")
    if value is None:
        value = click.prompt(
            name, hide_input=name in manifest.secrets, default="", show_default=False
        )
    zone = zone_of("", load(home).settings.cron.timezone)
    try:
        put = Kept(home.settings).put(manifest, name, value, Here(SystemClock().now(), zone))
    except Misread as error:
        raise PackError(text(error.why, **error.parts)) from error
    refresh(home)
    shown = put if name in manifest.settings else ("set" if value else "not set")
    click.echo(f"{name} is {shown if shown != '' else 'not set'} now.")


def _installed(name: str) -> Pack:
    library = installed()
    if found := library.get(library.named(name)):
        return found
    hint = did_you_mean(name, library.names)
    raise PackError(f"No pack {name} is installed{hint or '.'}", fix="See `aouo pack list`.")


@click.command("link")
@click.argument("folder", type=click.Path(path_type=Path))
@json_option
def link_(folder: Path, as_json: bool) -> None:
    """Install the pack in FOLDER by a link, so that it can be edited where it lies.

    A running bot takes it up at once, and later edits with `aouo reload`.
    """
    home = current_home()
    home.create()
    target = link(folder, home.packs)
    running = refresh(home)
    if as_json:
        facts = {"name": target.name, "link": str(target), "folder": str(folder.resolve())}
        print_json({**facts, "running": running})
        return
    click.echo(f"{target.name} is installed: {target} → {folder.resolve()}")
    if running:
        click.echo("The running bot has it.")
