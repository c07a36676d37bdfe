"""Lays keys of the environment over the file's, and files of secrets under them.

pydantic-settings reads both, and is imported only where there are any: it costs 30 ms and 80
modules. The settings stay plain models, which are made of all three afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from aouo.config.keys import PREFIX, Tree, get, overriding, plain, put
from aouo.config.settings import Settings

SECRETS = Path("/run/secrets")
"""Where containers are given theirs."""
_SECRET_MAX = 65_536
_CONTAINERS = ("{", "[")


def overlay(tree: Tree, environ: Mapping[str, str]) -> list[str]:
    """Override the file's values by the environment's, and fill what is empty from files of
    secrets (a container's, systemd's credentials). Returns the problems."""
    given = environ.get("CREDENTIALS_DIRECTORY", "")
    folders = [SECRETS, *([Path(given)] if given else [])]
    named = {folder: names for folder in folders if (names := _names(folder))}
    return [
        *(_lay_under(tree, named) if named else ()),
        *(_lay_over(tree, environ) if overriding(environ) else ()),
    ]


def _names(folder: Path) -> list[str]:
    """Return the files that are named as keys are, `section__key`."""
    try:
        return sorted(one.name.lower() for one in folder.iterdir() if "__" in one.name)
    except OSError:
        return []


def _lay_over(tree: Tree, environ: Mapping[str, str]) -> list[str]:
    """Override values by variables `AOUO_SECTION__KEY`; lists are JSON or `a,b`."""
    defaults, problems = plain(Settings()), list[str]()
    known: dict[str, str] = {}
    for path, variable in overriding(environ).items():
        value = environ[variable]
        if value.lstrip().startswith(_CONTAINERS):
            try:
                json.loads(value)
            except (ValueError, RecursionError) as error:
                why = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deep"
                problems.append(f"{path}: not JSON: {why}")
                continue
        elif isinstance(get(defaults, path), list):
            value = json.dumps([part.strip() for part in value.split(",") if part.strip()])
        if path.partition(".")[0] in Settings.model_fields:
            known[variable] = value
        else:  # the settings say what they have instead
            put(tree, path, value)
    found = _read(known)
    for path, variable in overriding(known).items():
        value = get(found, path)
        put(tree, path, known[variable] if value is None else value)
    return problems


def _read(variables: Mapping[str, str]) -> Tree:
    """Read the environment that a start was given, which need not be the process's."""
    from pydantic_settings import EnvSettingsSource
    from pydantic_settings.sources.utils import parse_env_vars

    class Variables(EnvSettingsSource):
        def _load_env_vars(self) -> Mapping[str, str | None]:
            return parse_env_vars(variables, case_sensitive=False)

    model = cast("Any", Settings)
    return Variables(model, env_prefix=PREFIX, env_nested_delimiter="__")()


def _lay_under(tree: Tree, named: Mapping[Path, Sequence[str]]) -> list[str]:
    """Fill what is empty from files of secrets; the last folder counts."""
    from pydantic_settings import NestedSecretsSettingsSource, SettingsError

    try:
        found = NestedSecretsSettingsSource(
            cast("Any", Settings), list(named), secrets_nested_delimiter="__", secrets_prefix=""
        )()
    except (SettingsError, OSError, UnicodeDecodeError) as error:
        return [f"{', '.join(map(str, named))}: the secrets cannot be read: {error}"]
    problems: list[str] = []
    for folder, names in named.items():
        for name in names:
            path = name.replace("__", ".")
            value = get(found, path)
            if path.partition(".")[0] not in Settings.model_fields:
                problems.append(f"{path}: there is no such key (the file {folder / name})")
            elif isinstance(value, str) and len(value) > _SECRET_MAX:
                problems.append(f"{path}: the file {folder / name} is too long for a secret")
            elif get(tree, path) in (None, ""):
                put(tree, path, value)
    return problems
