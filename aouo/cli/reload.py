"""`aouo reload`: lets the running bot take up config.json and its packs as they are now."""

from __future__ import annotations

from collections.abc import Iterator

import click

from aouo.cli.context import current_home, json_option, load, print_json
from aouo.cli.unpriced import warn_about_missing_prices
from aouo.plumbing.client import ask
from aouo.plumbing.verbs import Facts


@click.command()
@json_option
def reload(as_json: bool) -> None:
    """Let the running bot read config.json and its packs anew.

    Exit 1 when none runs, when config.json has a problem (then nothing changes), or when a pack
    does not load. What is said now is answered by the bot as it is; a linked pack that does not
    load goes on as it was. A save of config.json is taken up without this, too.
    """
    home = current_home()
    facts = ask(home, "reload", timeout_s=60)
    config, broken = facts["config"], facts["broken"]
    if as_json:
        print_json(facts)
    else:
        for line in _lines(config, facts["changed"]):
            click.echo(line)
        if config["changed"]:
            warn_about_missing_prices(load(home).settings, config["changed"])
        for problem in config["problems"]:
            click.echo(f"config.json: {problem}", err=True)
        for name, problems in broken.items():
            goes_on = " (goes on as it was)" if name in facts["packs"] else ""
            click.echo(f"{name} does not load{goes_on}: {problems[0]}", err=True)
    if broken or config["problems"]:
        click.get_current_context().exit(1)


def _lines(config: Facts, packs: list[str]) -> Iterator[str]:
    if config["problems"]:
        yield "Nothing has changed, because config.json has a problem."
        return
    if changed := config["changed"]:
        yield f"In force now: {', '.join(changed)}."
    else:
        yield "config.json was in force already."
    if later := config["after_restart"]:
        yield f"Takes effect after a restart (aouo restart): {', '.join(later)}."
    if nothing := config["without_effect"]:
        yield f"Nothing reads this yet: {', '.join(nothing)}."
    yield f"Reloaded: {', '.join(packs)}." if packs else "No pack has changed."
