"""`aouo chat`, `dev`, `try`: talk to the bot in a terminal, to a pack, or to nothing but this."""

from __future__ import annotations

import os
from pathlib import Path

import click

from aouo.cli.context import current_home, json_option, print_json
from aouo.plumbing.home import Home


@click.command()
@click.argument("pack", required=False, default="")
def chat(pack: str) -> None:
    """Talk to PACK (or to whichever answers here) in this terminal.

    Through the running bot, or on its own when none runs. A number taps the button with that
    number; Ctrl-D ends.
    """
    import asyncio

    from aouo.app.local.conversing import converse

    asyncio.run(converse(current_home(), os.environ, pack, click.echo))


@click.command()
@click.argument("text")
@click.option("--pack", default="", help="Whom it is for.")
def ask(text: str, pack: str) -> None:
    """Say TEXT, print the answer and end; 1 = there is none. Through the running bot, or on its
    own."""
    import asyncio

    from aouo.app.local import conversing
    from aouo.facts.errors import TurnFailed

    try:
        click.echo(asyncio.run(conversing.ask(current_home(), os.environ, pack, text)))
    except TurnFailed as error:
        raise click.ClickException(str(error)) from error


@click.command()
@click.argument("how", required=False, type=click.Choice(["member", "guest", "out", "forget"]))
@click.argument("person", required=False, type=click.IntRange(1))
@click.option("--yes", is_flag=True, help="Do not ask before somebody is forgotten.")
@json_option
def people(how: str | None, person: int | None, yes: bool, as_json: bool) -> None:
    """Say who may talk to the bot; let in (as member, or as guest for a day), put out, or forget
    the person with this Telegram id. To forget erases what is kept of their words."""
    if how and not person:
        raise click.UsageError(f"Like this: aouo people {how} ID")
    if how != "forget":
        _say(f"/people {how} {person}" if how else "/people", as_json=as_json)
        return
    if not yes:
        if as_json:
            raise click.UsageError("With --json nobody is asked: add --yes.")
        _say(f"/forget {person}")
        click.confirm(f"Erase what is kept of {person}?", abort=True)
    _say(f"/forget {person} yes", as_json=as_json)


@click.command()
@click.argument("how", type=click.Choice(["back"]), required=False)
@click.argument("number", type=int, required=False)
@json_option
def grants(how: str | None, number: int | None, as_json: bool) -> None:
    """List what is allowed for good, or take number NUMBER of the list back."""
    if (how is None) != (number is None):
        raise click.UsageError("Like this: aouo grants back NUMBER")
    _say(f"/grants {how} {number}" if how else "/grants", as_json=as_json)


@click.command()
@click.argument("call", required=False, default="list")
@json_option
def undo(call: str, as_json: bool) -> None:
    """List what was changed last, or put CALL of the list back."""
    _say(f"/undo {call}", as_json=as_json)


def _say(text: str, pack: str = "", *, as_json: bool = False) -> None:
    import asyncio

    from aouo.app.local.conversing import converse

    lines = list[str]()
    tell = lines.append if as_json else click.echo
    asyncio.run(converse(current_home(), os.environ, pack, tell, said=text))
    if as_json:
        print_json({"answer": "\n".join(lines)})


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--port", default=0, help="Where the chat page listens; 0 takes a free port.")
@click.option("--language", default="en", help="Of everybody's Telegram, such as `de`.")
def dev(folder: Path, port: int, language: str) -> None:
    """Chat with the pack in FOLDER, alone, in a local Telegram.

    Its problems are listed first. Edits count at once: a line here says so, or what is wrong.
    """
    import asyncio

    from aouo.app.local import trial
    from aouo.packs.authoring import validate
    from aouo.plumbing.clock import SystemClock

    problems = validate(folder, now=SystemClock().now())
    for problem in problems:
        click.echo(f"{problem.severity}: {problem}", err=True)
    if any(problem.severity == "error" for problem in problems):
        raise click.exceptions.Exit(1)
    home = Home(current_home().path / "dev")
    packs = [folder.resolve()]
    asyncio.run(trial.run(home, os.environ, packs, click.echo, port=port, language=language))


@click.command("try")
@click.option("--say", "text", help="Say this, print the answer and end.")
@click.option("--pack", default="notes", show_default=True, help="Which pack --say talks to.")
@click.option("--port", default=0, help="Where the chat page listens; 0 takes a free port.")
@click.option("--show", is_flag=True, help="Let a scripted model play what a real one does.")
@click.option("--no-model", is_flag=True, help="Ask no model, whatever keys there are.")
@click.option("--language", default="en", help="Of everybody's Telegram, such as `de`.")
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the home in this folder; `aouo start --home` takes it to Telegram.",
)
def try_(
    text: str | None,
    pack: str,
    port: int,
    show: bool,
    no_model: bool,
    language: str,
    keep: Path | None,
) -> None:
    """Chat with aouo in a browser: a local Telegram and the real channel.

    No account, no key, no network. It uses a home of its own inside the home, made anew each time
    but with --keep.

    If OPENAI_API_KEY, GROQ_API_KEY or GEMINI_API_KEY is set, or an Ollama runs on this machine,
    the first of them answers what needs a model, and what it costs is yours.
    """
    import asyncio

    from aouo.app.local import trial
    from aouo.installer.installed import sample_packs
    from aouo.packs.authoring import TEMPLATES_FOLDER as TEMPLATES

    packs = [TEMPLATES / "show"] if show else sample_packs()
    if text is None:
        home = Home(keep or current_home().path / "try")
        asyncio.run(
            trial.run(
                home,
                os.environ,
                packs,
                _tell,
                port=port,
                show=show,
                model=not no_model,
                language=language,
                kept=keep is not None,
            )
        )
        return
    home = Home(current_home().path / "try-say")
    answer = asyncio.run(
        trial.say(
            home,
            os.environ,
            sample_packs(),
            _tell,
            text=text,
            pack=pack,
            show=show,
            model=not no_model,
        )
    )
    click.echo(answer)


def _tell(line: str) -> None:
    click.echo(line, err=not line.startswith("ready: "))
