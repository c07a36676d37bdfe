"""`aouo pack schema`: prints the JSON Schema of pack.yml, for editors."""

from __future__ import annotations

import click

from aouo.cli.context import print_json


@click.command()
def schema() -> None:
    """Print the JSON Schema of pack.yml (draft 2020-12).

    Keep it beside your packs and begin a pack.yml with
    `# yaml-language-server: $schema=../aouo-pack.json`.
    """
    from aouo.packs.format.manifest_schema import json_schema

    print_json(json_schema())
