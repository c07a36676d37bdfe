"""The keys of `config.json` and the variables that override them: paths, defaults, schema."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast, get_args, get_origin

from pydantic import BaseModel, SecretStr

from aouo.config.settings import AFTER_RESTART, Settings

Tree: TypeAlias = dict[str, Any]
"""A JSON object as `json.loads` returns it."""

_INIT_BATCH_MS = 250


def plain(settings: Settings, *, masked: bool = False) -> Tree:
    """Return every key and its value as JSON types; secrets are readable unless `masked`."""
    return cast("Tree", plain_value(settings, masked=masked))


def sample() -> Tree:
    """Return the file that `aouo init` writes: all defaults, with text batching switched on."""
    tree = plain(Settings())
    put(tree, "telegram.message_batch_ms", _INIT_BATCH_MS)
    return tree


def schema() -> Tree:
    """Return the JSON Schema of `config.json`."""
    from aouo.config.docs import describe  # reads the source: for whoever wants the schema

    made = Settings.model_json_schema()
    describe(made)
    made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    made["title"] = "aouo config.json"
    return made


def get(tree: Tree, path: str) -> object:
    """Return the value at a dotted path, None = there is none. A name may contain dots itself."""
    parts = path.split(".")
    for end in range(1, len(parts)):
        below = tree.get(".".join(parts[:end]))
        if isinstance(below, dict):
            found = get(cast("Tree", below), ".".join(parts[end:]))
            if found is not None:
                return found
    return tree.get(path)


def put(tree: Tree, path: str, value: object) -> None:
    """Set the value at a dotted path, and create missing objects on the way.

    If a value on the way is no object, nothing changes, and validation reports it.
    """
    put_at(tree, names_of(path, value), value)


def put_at(tree: Tree, names: Sequence[str], value: object) -> None:
    """Set a value as `put` does, at a path in parts."""
    *parents, name = names
    for parent in parents:
        below: Any = tree.setdefault(parent, {})
        if not isinstance(below, dict):
            return
        tree = cast("Tree", below)
    tree[name] = value


def drop_at(tree: Tree, names: Sequence[str]) -> None:
    """Take out the value at a path in parts, if there is one."""
    *parents, name = names
    for parent in parents:
        below: Any = tree.get(parent)
        if not isinstance(below, dict):
            return
        tree = cast("Tree", below)
    tree.pop(name, None)


def names_of(path: str, value: object) -> tuple[str, ...]:
    """Split a dotted path into names; `value` is what lies there.

    A name of the owner's, such as a model's under `prices`, may contain dots; it ends where a
    known key follows.
    """
    model: type[BaseModel] | None = Settings
    found: list[str] = []
    left = path.split(".")
    while left and model:
        found.append(left.pop(0))
        field = model.model_fields.get(found[-1])
        kind: object = field.annotation if field else None
        model = _model(kind)
        if left and get_origin(kind) is dict:
            model = _model(get_args(kind)[1])
            keys = model.model_fields if model else {}
            last = len(left) - (bool(keys) and len(left) > 1 and not isinstance(value, dict))
            end = next((at for at in range(1, last) if left[at] in keys), last)
            found.append(".".join(left[:end]))
            left = left[end:]
    return (*found, *left)


def differing(one: Settings, other: Settings) -> tuple[str, ...]:
    """Return the dotted paths of the keys whose values differ; a list is one value."""
    return tuple(_differing(plain(one), plain(other), ""))


def _differing(one: object, other: object, path: str) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        here, there = cast("Tree", one), cast("Tree", other)
        for name in {**here, **there}:
            yield from _differing(here.get(name), there.get(name), _join(path, name))
    elif one != other:
        yield path


def until_restart(running: Settings, wanted: Settings) -> Settings:
    """Return `wanted`, but for the keys that a running bot cannot take up."""
    tree, then = plain(wanted), plain(running)
    for key in AFTER_RESTART:
        put(tree, key, get(then, key))
    return Settings.model_validate(tree)


def known_keys() -> tuple[str, ...]:
    """Return the dotted path of every key and section."""
    return tuple(_walk(Settings, ""))


def nearest(path: str) -> str:
    """Return the known key that `path` most likely means, "" = none is close.

    Searches the keys of its own section, then all paths, then the last names of all keys.
    """
    section, _, name = path.rpartition(".")
    siblings = {sibling: _join(section, sibling) for sibling in _names_in(section)}
    keys = known_keys()
    by_leaf = {key.rpartition(".")[2]: key for key in reversed(keys)}
    for candidates, wanted in (
        (siblings, name),
        ({key: key for key in keys}, path),
        (by_leaf, name),
    ):
        if close := difflib.get_close_matches(wanted, candidates, n=1, cutoff=0.7):
            return candidates[close[0]]
    return ""


def unknown(path: str) -> str:
    """Return the problem text for a key that does not exist."""
    close = nearest(path)
    return f"{path}: unknown key" + (f" (did you mean {close}?)" if close else "")


def _names_in(section: str) -> tuple[str, ...]:
    """Return the keys of the section at a path, also through named or numbered entries."""
    model: type[BaseModel] | None = Settings
    entries: tuple[object, ...] = ()
    for name in names_of(f"{section}.", None)[:-1] if section else ():
        if model is None:
            model = next(filter(None, map(_model, entries)), None)
        else:
            field = model.model_fields.get(name)
            kind: object = field.annotation if field else None
            model, entries = _model(kind), get_args(kind)
    return tuple(model.model_fields) if model else ()


def _model(kind: object) -> type[BaseModel] | None:
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _mask(secret: str) -> str:
    """Return what may be shown of a secret: its last four characters if it has at least 20."""
    if not secret:
        return ""
    return "****" + (secret[-4:] if len(secret) >= 20 else "")


def _join(path: str, name: object) -> str:
    """Return a dotted path with one more name."""
    return f"{path}.{name}" if path else str(name)


def _walk(model: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        path = _join(prefix, name)
        yield path
        if section := _model(field.annotation):
            yield from _walk(section, path)


def plain_value(value: object, *, masked: bool = False) -> object:
    """Return a value of the settings as JSON types."""
    match value:
        case SecretStr():
            secret = value.get_secret_value()
            return _mask(secret) if masked else secret
        case BaseModel():
            names = type(value).model_fields
            return {name: plain_value(getattr(value, name), masked=masked) for name in names}
        case dict():
            fields = cast("Tree", value).items()
            return {name: plain_value(item, masked=masked) for name, item in fields}
        case tuple():
            return [plain_value(item, masked=masked) for item in cast("tuple[object, ...]", value)]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


# The first variable that is set fills the key when the file leaves it empty.
_USUAL_NAMES = {
    "telegram.bot_token": ("TELEGRAM_BOT_TOKEN",),
    "openai.api_key": ("OPENAI_API_KEY",),
    "groq.api_key": ("GROQ_API_KEY",),
    "gemini.api_key": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
PREFIX = "AOUO_"
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def usual(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that fills each key which the file leaves empty."""
    return {
        path: variable
        for path, names in _USUAL_NAMES.items()
        if (variable := next((name for name in names if environ.get(name)), ""))
    }


def overriding(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variable `AOUO_SECTION__FIELD` of each key that one overrides."""
    found: dict[str, str] = {}
    for variable in sorted(environ):
        section, nested, rest = variable.removeprefix(PREFIX).partition("__")
        if variable.startswith(PREFIX) and nested:
            found[".".join((section, *rest.split("__"))).lower()] = variable
    return found


def variable_of(path: str, overrides: Mapping[str, str]) -> str:
    """Return the variable that overrides the key at a path, or what it is in; "" = none does."""
    return next((overrides[key] for key in overrides if f"{path}.".startswith(f"{key}.")), "")


def references(text: str) -> tuple[str, ...]:
    """Return the names of the variables that a text names as `${NAME}`."""
    return tuple(_REFERENCE.findall(text))


def expanded(tree: Tree, environ: Mapping[str, str], problems: list[str]) -> Tree:
    """Return `tree` with every `${NAME}` replaced from the environment; an unset name is added to
    the problems."""
    return cast("Tree", _expand(tree, environ, "", problems))


def _expand(value: object, environ: Mapping[str, str], path: str, problems: list[str]) -> object:
    def look_up(match: re.Match[str]) -> str:
        if match[1] not in environ:
            problems.append(f"{path}: the environment variable {match[1]} is not set")
        return environ.get(match[1], "")

    match value:
        case str():
            return _REFERENCE.sub(look_up, value) if "${" in value else value
        case list():
            items = enumerate(cast("list[object]", value))
            return [_expand(item, environ, _join(path, n), problems) for n, item in items]
        case dict():
            fields = cast("Tree", value).items()
            return {
                name: _expand(item, environ, _join(path, name), problems) for name, item in fields
            }
        case _:
            return value
