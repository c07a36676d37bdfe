"""`aouo pack test`, `sign`, `keygen`: run a pack's evals, and sign it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aouo.cli.context import current_home, json_option, load, not_there, print_json
from aouo.facts.errors import SetupError
from aouo.packs.authoring import validate
from aouo.packs.evals import cases as evals
from aouo.packs.evals.cases import Eval
from aouo.packs.format.problems import Problem, errors
from aouo.packs.load import Pack, load_pack
from aouo.packs.shipping.archive import SIGNATURE_FILE
from aouo.packs.shipping.signing import SecretKey, new_key, read_secret_key, sign_app
from aouo.packs.summary import sound_pack
from aouo.plumbing.home import write_atomically

if TYPE_CHECKING:
    from aouo.config.settings import Settings
    from aouo.guard.sandbox.levels import Wish
    from aouo.packs.evals.checks import EvalResult, StepResult

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


@click.command("test")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--real", is_flag=True, help="Also those that ask your own model; this costs money.")
@click.option("-v", "--verbose", is_flag=True, help="Show every step, also those that pass.")
@json_option
def test(folder: Path, names: tuple[str, ...], real: bool, verbose: bool, as_json: bool) -> None:
    """Run the evals of the pack in FOLDER, or those called NAME: 0 if all pass, else 1.

    Each runs alone: the real bot in a home of its own, on a local Telegram, with a model that
    answers as the eval says.
    """
    loaded = load_pack(folder)
    problems = errors(validate(folder))
    if problems or loaded.pack is None:
        _tell_problems(loaded.name, problems, as_json)
        click.get_current_context().exit(1)
    found = _wanted(folder, names)
    beside = _beside(loaded.pack)
    own = load(current_home()).settings if real else None
    results = asyncio.run(_run(loaded.pack, found, beside, own, verbose, quiet=as_json))
    told = {} if names else asyncio.run(_own_tests(loaded.pack))
    passed = all(result.passed for result in results) and bool(told.get("ok", True))
    if as_json:
        evals_run = [asdict(result) for result in results]
        facts = {"ok": passed, "pack": loaded.name, "problems": [], "evals": evals_run}
        print_json(facts | ({"tests": told} if told else {}))
    else:
        click.echo(_summary(results))
        if told:
            click.echo(f"tests/: {told['ran']} {'passed' if told['ok'] else 'run'}.")
            click.echo("" if told["ok"] else told["told"], err=True, nl=not told["ok"])
    if not passed:
        click.get_current_context().exit(1)


async def _own_tests(pack: Pack) -> dict[str, Any]:
    """Run the pack's `tests/*.py` in the sandbox; {} = it has none."""
    from aouo.guard.sandbox.asking import GIVEN
    from aouo.guard.sandbox.order import Function, Order
    from aouo.guard.sandbox.run import NotConfined, Sandbox

    source = pack.folder.resolve()
    tests, tools = source / "tests", source / "tools"
    if not any(tests.glob("*.py")):
        return {}
    run = Function(GIVEN / "pack_tests.py", "run", (tools / "vendor", tools, GIVEN))
    env = (("AOUO_PACK", str(source)), ("AOUO_DATA", "/tmp"))
    given = json.dumps({"folder": str(tests)}).encode()
    try:
        ran = await Sandbox(_sandbox()).run(Order(run, given, tests, (source,), env=env))
    except NotConfined as error:
        return {"ran": 0, "ok": False, "told": f"They cannot be run on this machine: {error}"}
    said: dict[str, Any] = json.loads(ran.stdout or b"{}")
    if "value" not in said:
        return {"ran": 0, "ok": False, "told": said.get("error") or ran.stderr or ran.end}
    return dict(said["value"])


async def _run(
    pack: Pack,
    found: Sequence[Eval],
    beside: Sequence[Path],
    own: Settings | None,
    verbose: bool,
    *,
    quiet: bool,
) -> list[EvalResult]:
    from aouo.app.local.evaluating import evaluate  # the whole runtime

    results: list[EvalResult] = []
    sandbox = _sandbox()
    for each in found:
        results.append(await evaluate(pack, each, beside=beside, real=own, sandbox=sandbox))
        if not quiet:
            _show(results[-1], verbose)
    return results


def _sandbox() -> Wish:
    """Return the owner's setting; the author of a pack need not have a valid configuration."""
    try:
        return load(current_home()).settings.security.sandbox
    except SetupError:
        return "auto"


def _wanted(folder: Path, names: Sequence[str]) -> list[Eval]:
    """Return the evals with these names, by name or file; all without names.

    Raises:
        SetupError: there is none of a name.
    """
    found, _ = evals.load(folder)
    for name in names:
        if not any(_is_called(each, name) for each in found):
            there = ", ".join(repr(each.name) for each in found) or "none"
            raise not_there(f"There is no eval {name!r}.", fix=f"There are: {there}.")
    return [each for each in found if not names or any(_is_called(each, n) for n in names)]


def _is_called(found: Eval, name: str) -> bool:
    return name in (found.name, found.file, Path(found.file).name, Path(found.file).stem)


def _beside(pack: Pack) -> list[Path]:
    """Return the folders of packs that it depends on: installed, or beside it.

    Raises:
        SetupError: one is in neither place.
    """
    folders: list[Path] = []
    for needed in pack.manifest.depends_on:
        places = (current_home().packs / needed.name, pack.folder.resolve().parent / needed.name)
        there = [place for place in places if (place / "pack.yml").is_file()]
        if not there:
            fix = f"Install it, or put it into {places[1]}."
            raise not_there(f"{pack.name} depends on {needed.name}, which is not here.", fix=fix)
        folders.append(there[0])
    return folders


def _tell_problems(name: str, problems: Sequence[Problem], as_json: bool) -> None:
    if as_json:
        listed = [asdict(problem) for problem in problems]
        print_json({"ok": False, "pack": name, "problems": listed, "evals": []})
        return
    for problem in problems:
        click.echo(f"error: {problem}", err=True)
    click.echo(f"{name} is not sound; its evals did not run.", err=True)


def _show(result: EvalResult, verbose: bool) -> None:
    mark = {"passed": "✓", "failed": "✗", "skipped": "–"}[result.outcome]
    click.echo(f"{mark} {result.name} ({result.why or f'{result.ms} ms'})")
    for step in result.steps:
        if verbose or step.wrong:
            _show_step(result, step)


def _show_step(result: EvalResult, step: StepResult) -> None:
    where = f"step {step.step}" if step.step else "before the first step"
    click.echo(f"    {where}, {result.file}:{step.line}: {_legible(step.did)}")
    for wrong in step.wrong:
        click.echo(f"      expected {_legible(wrong)}")
    for what, lines in (("said", step.said), ("called", step.calls), ("row", step.rows)):
        for line in lines:
            click.echo(f"      {what}: {_legible(line).replace(chr(10), chr(10) + ' ' * 12)}")
    if step.buttons:
        click.echo(f"      buttons: {_legible(', '.join(step.buttons))}")
    if step.model_calls:
        asked = f"{step.model_calls} model call{'' if step.model_calls == 1 else 's'}"
        click.echo(f"      {asked}, {step.prompt_bytes:,} bytes, ${step.cost_usd:.6f}")


def _legible(text: str) -> str:
    """Return a stranger's text without characters that control a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def _summary(results: Sequence[EvalResult]) -> str:
    if not results:
        return "There are no evals: put some into evals/*.yml."
    counted = {
        outcome: sum(result.outcome == outcome for result in results)
        for outcome in ("passed", "failed", "skipped")
    }
    return ", ".join(f"{number} {outcome}" for outcome, number in counted.items() if number) + "."
