"""Says of every key what is in force, checks what the page wishes, and what that takes away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast

from pydantic import ValidationError

from aouo.config.catalogue import Key, keys_in, sections, value_at
from aouo.config.changing import UNSET, read_tree, version_of
from aouo.config.file import ConfigBroken, Loaded, parse, read_text
from aouo.config.keys import (
    Tree,
    expanded,
    overriding,
    plain,
    plain_value,
    references,
    unknown,
    usual,
    variable_of,
)
from aouo.config.settings import Settings, waits_for_restart
from aouo.config.values import NO_BOT_TOKEN, is_token, names_variable
from aouo.facts.errors import TooMuchToRead
from aouo.plumbing.control import Facts
from aouo.plumbing.home import Home
from aouo.plumbing.redact import REDACTED, Redactor, secrets_in
from aouo.plumbing.waiting import look_of


def losses(before: Settings, after: Settings) -> tuple[str, ...]:
    """Return a sentence about each thing that would be lost, or found somewhere else."""
    return (*_of_the_bot(before, after), *_of_the_page(before, after))


def _of_the_bot(before: Settings, after: Settings) -> Iterator[str]:
    old, new = before.telegram, after.telegram
    if old.owner and not new.owner:
        yield "Nobody may talk to the bot any more, and it has no owner."
    elif old.owner and old.owner != new.owner:
        yield f"The bot has another owner: {new.owner} in the place of {old.owner}."
    elif new.owner not in new.allowed_user_ids and old.owner in old.allowed_user_ids:
        yield f"The owner {new.owner} is not among telegram.allowed_user_ids any more."
    token, other = old.bot_token.get_secret_value(), new.bot_token.get_secret_value()
    if token and token.partition(":")[0] != other.partition(":")[0]:
        yield "With the next start it is another bot: the chats with this one get no answer."
    if old.transport != new.transport:
        yield f"With the next start messages come in by {new.transport}."


def _of_the_page(before: Settings, after: Settings) -> Iterator[str]:
    old, new = before.dashboard, after.dashboard
    if old.enabled and not new.enabled:
        yield "With the next start there is no local page any more."
    elif old != new:
        yield (
            "With the next start this page has another address or token: `aouo dashboard` prints "
            "its link."
        )


_CHANGES_MAX = 500
BY_HAND = (
    "Only `aouo config set` or an editor changes this: the page names no programs, paths or "
    "addresses, and nobody to trust."
)
_DEEPEST = 20


class NotTaken(Exception):
    """A change is not the page's to make; `problems` say why, each with its key."""

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def checked(
    changes: Mapping[str, object], keys: Mapping[str, Key]
) -> dict[tuple[str, ...], object]:
    """Return what is to be set by the path in parts, `UNSET` for null.

    Raises:
        NotTaken: a key is none, or none of the page's.
    """
    if not changes:
        raise NotTaken("nothing is changed")
    if len(changes) > _CHANGES_MAX:
        raise NotTaken(f"at most {_CHANGES_MAX} keys can be changed at a time")
    found = {path: _why_not(path, value, keys.get(path)) for path, value in changes.items()}
    if problems := [f"{path}: {why}" for path, why in found.items() if why]:
        raise NotTaken(*problems)
    return {keys[path].names: UNSET if value is None else value for path, value in changes.items()}


def _why_not(path: str, value: object, key: Key | None) -> str:
    if key is None:
        return unknown(path[:300]).removeprefix(f"{path[:300]}: ")
    if not key.on_page:
        return BY_HAND
    if value is None:
        return ""
    if key.kind == "secret":
        if not isinstance(value, str):
            return "a secret is a text"
        is_bad = path == "telegram.bot_token" and value and not is_token(value)
        return NO_BOT_TOKEN if is_bad and not names_variable(value) else ""
    return _trouble(value, _DEEPEST)


def _trouble(value: object, deepest: int) -> str:
    """Return why a value cannot be set from here, "" = it can."""
    if deepest == 0:
        return "it is nested too deep"
    match value:
        case str():
            if REDACTED in value:
                return f"{REDACTED} only stands for a secret that is not shown"
            hint = "only a secret can name an environment variable from here"
            return hint if references(value) else ""
        case dict():
            items = cast("dict[str, object]", value)
            return _first([*items, *items.values()], deepest)
        case list():
            return _first(cast("list[object]", value), deepest)
        case _:
            return ""


def _first(values: list[object], deepest: int) -> str:
    return next(filter(None, (_trouble(one, deepest - 1) for one in values)), "")


_FILE_MAX = 2_000_000
_Why: TypeAlias = Literal["environment", "restart", "problems", "soon"]
"""Why something else is in force than the file says: a variable overrides it, it waits for the next
start, the file has problems, or it has just been saved."""


@dataclass(frozen=True, slots=True)
class _Compared:
    """The file beside what is in force."""

    tree: Tree
    file: Tree | None
    """The settings of the file, None = it has problems."""
    force: Tree
    overrides: Mapping[str, str]
    usual: Mapping[str, str]
    redactor: Redactor


def configuration(
    home: Home,
    settings: Settings,
    environ: Mapping[str, str],
    redactor: Redactor,
    problems: Sequence[str] = (),
) -> Facts:
    """Return every key by section, the problems of the file, and its version.

    `settings` hold, or would after a start; `problems` are those that the running bot has found in
    the file.

    Raises:
        TooMuchToRead: the file is too large to be shown.
    """
    if (look := look_of(home.config)) and look[1] > _FILE_MAX:
        raise TooMuchToRead("config.json has more than 2 MB")
    version = _version(home)  # before the rest: who saves over what came in between is refused
    tree, loaded, broken = _read(home.config, environ)
    problems = broken or problems
    compared = _Compared(
        tree,
        plain(loaded.settings) if loaded else None,
        plain(settings),
        overriding(environ),
        usual(environ),
        redactor | Redactor(_secrets(tree, loaded, environ)),
    )
    text = compared.redactor.text
    rows: dict[str, list[Facts]] = {name: [] for name in sections()}
    for key in keys_in(tree, compared.force):
        rows[key.names[0]].append(_row(key, compared, is_broken=bool(problems)))
    return {
        "version": version,
        "file": str(home.config),
        "problems": [as_problem(text(problem)) for problem in problems],
        "notes": [text(note) for note in loaded.notes] if loaded else [],
        "sections": [
            {"name": name, "about": about, "keys": rows[name]} for name, about in sections().items()
        ],
    }


def _version(home: Home) -> str:
    try:
        return version_of(home.path)
    except ConfigBroken:  # that it cannot be read is among the problems
        return "?"


def as_problem(problem: str) -> Facts:
    """Return a problem with its key, if it names one."""
    key, colon, rest = problem.partition(": ")
    is_key = bool(colon) and " " not in key and key.partition(".")[0] in Settings.model_fields
    return {"key": key, "text": rest} if is_key else {"key": "", "text": problem}


def _read(file: Path, environ: Mapping[str, str]) -> tuple[Tree, Loaded | None, tuple[str, ...]]:
    """Return what the file says as it is written, its settings, and its problems."""
    tree: Tree = {}
    try:
        tree = read_tree(file.parent)
        return tree, parse(read_text(file), environ, file), ()
    except ConfigBroken as broken:
        return tree, None, broken.problems


def _row(key: Key, compared: _Compared, *, is_broken: bool) -> Facts:
    path = key.path
    row: Facts = {
        "key": path,
        "kind": key.kind,
        "about": key.about,
        "schema": key.schema,
        "on_page": key.on_page,
        "takes_effect": "start" if waits_for_restart(path) else "now",
    }
    written, in_file = value_at(compared.tree, key.names)
    force, holds = value_at(compared.force, key.names)
    wanted = _wanted(key, compared)
    if variable := variable_of(path, compared.overrides):
        row["variable"] = variable
    if force != wanted or not holds:
        row["why"] = _why(path, variable, is_broken=is_broken)
    if key.kind == "secret":
        return row | _source(path, written, compared)
    if key.kind == "names":
        names = list(cast("Tree", written)) if isinstance(written, dict) else []
        return row | {"value": compared.redactor.value(names), "in_file": in_file}
    clean = compared.redactor.value
    row |= {"default": key.default, "in_file": in_file}
    row["value"] = clean(_shown(key, written)) if in_file else key.default
    if holds and "why" in row and not _names_variables(written):
        row["in_force"] = clean(force)
    return row


def _wanted(key: Key, compared: _Compared) -> object:
    """Return the value that the file wants, as the settings have it."""
    if compared.file is not None and not variable_of(key.path, compared.overrides):
        return value_at(compared.file, key.names)[0]
    written, in_file = value_at(compared.tree, key.names)
    if not in_file:
        return key.default
    try:
        return plain_value(key.adapter.validate_python(written))
    except ValidationError:
        return written


def _why(path: str, variable: str, *, is_broken: bool) -> _Why:
    if variable:
        return "environment"
    if is_broken:
        return "problems"
    return "restart" if waits_for_restart(path) else "soon"


def _source(path: str, written: object, compared: _Compared) -> Facts:
    """Return whether a secret is set, and where."""
    if path in compared.overrides or variable_of(path, compared.overrides):
        return {"set": True, "from": "environment"}
    if isinstance(written, str) and (named := references(written)):
        return {"set": True, "from": "reference", "variable": ", ".join(named)}
    if written not in (None, ""):
        return {"set": True, "from": "file"}
    if path in compared.usual:
        return {"set": True, "from": "environment", "variable": compared.usual[path]}
    return {"set": False, "from": ""}


def _shown(key: Key, written: object) -> object:
    """Return a value of the file; one of another shape than its key's may hold anything, and is
    not shown."""
    if not isinstance(written, dict | list):
        return written
    try:
        key.adapter.validate_python(written)
    except ValidationError:
        return None
    return cast("object", written)


def _names_variables(value: object) -> bool:
    return any(references(text) for text in _texts(value))


def _secrets(tree: Tree, loaded: Loaded | None, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the secrets of a file: a broken one's are not known to anybody yet."""
    if loaded:
        yield from loaded.settings.secrets()
        return
    for one in (tree, expanded(tree, environ, [])):
        for text in _texts(one):
            yield from secrets_in(text)
        for key in keys_in(one):
            value, _ = value_at(one, key.names)
            if key.kind == "secret" or (key.kind == "names" and not key.below):
                yield from _texts(value)


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in cast("Tree", value).values():
                yield from _texts(item)
        case list():
            for item in cast("list[object]", value):
                yield from _texts(item)
        case int() | float():
            yield str(value)
        case _:
            pass
