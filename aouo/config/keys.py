"""Which keys `config.json` has: dotted paths, defaults, schema, and the key nearest to a typo."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any, TypeAlias, cast, get_args, get_origin

from pydantic import BaseModel, SecretStr

from aouo.config.settings import Settings

Tree: TypeAlias = dict[str, Any]
"""What `json.loads` makes of a JSON object."""

INIT_BATCH_MS = 250


def plain(settings: Settings, *, masked: bool = False) -> Tree:
    """Every key and its value as JSON types; secrets in the open unless `masked`."""
    return cast("Tree", _plain(settings, masked))


def sample() -> Tree:
    """What `aouo init` writes: every key with its default, and text batching switched on."""
    tree = plain(Settings())
    put(tree, "telegram.message_batch_ms", INIT_BATCH_MS)
    return tree


def schema() -> Tree:
    """The JSON Schema of `config.json`."""
    from aouo.config.docs import describe  # reads the source: for whoever wants the schema

    made = Settings.model_json_schema()
    describe(made)
    made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    made["title"] = "aouo config.json"
    return made


def get(tree: Tree, path: str) -> object:
    """The value at a dotted path, None where there is none. A name may have dots of its own."""
    parts = path.split(".")
    for end in range(1, len(parts)):
        below = tree.get(".".join(parts[:end]))
        if isinstance(below, dict):
            found = get(cast("Tree", below), ".".join(parts[end:]))
            if found is not None:
                return found
    return tree.get(path)


def put(tree: Tree, path: str, value: object) -> None:
    """Set the value at a dotted path, making what is missing on the way.

    Where something other than an object is in the way, nothing is changed: validation names it.
    """
    *parents, name = _names(path, value)
    for parent in parents:
        below: Any = tree.setdefault(parent, {})
        if not isinstance(below, dict):
            return
        tree = cast("Tree", below)
    tree[name] = value


def _names(path: str, value: object) -> tuple[str, ...]:
    """The names that a dotted path leads through: one that the owner gave, as a model's in a list
    of prices, may have dots; it ends where a key follows."""
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


def known_keys() -> tuple[str, ...]:
    """The dotted path of every key and section."""
    return tuple(_walk(Settings, ""))


def nearest(path: str) -> str:
    """The known key that `path` most likely stands for, or "".

    First among the keys of its own section, then among all paths, then a key of that name
    anywhere.
    """
    section, _, name = path.rpartition(".")
    siblings = {sibling: join(section, sibling) for sibling in _names_in(section)}
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
    """The problem of a key that does not exist."""
    close = nearest(path)
    return f"{path}: unknown key" + (f" (did you mean {close}?)" if close else "")


def _names_in(section: str) -> tuple[str, ...]:
    """The keys of the section at a path, which may lead through named or numbered entries."""
    model: type[BaseModel] | None = Settings
    entries: tuple[object, ...] = ()
    for name in _names(f"{section}.", None)[:-1] if section else ():
        if model is None:
            model = next(filter(None, map(_model, entries)), None)
        else:
            field = model.model_fields.get(name)
            kind: object = field.annotation if field else None
            model, entries = _model(kind), get_args(kind)
    return tuple(model.model_fields) if model else ()


def _model(kind: object) -> type[BaseModel] | None:
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def mask(secret: str) -> str:
    """What may be shown of a secret: its last four characters when it is long."""
    if not secret:
        return ""
    return "****" + (secret[-4:] if len(secret) >= 20 else "")


def join(path: str, name: object) -> str:
    """A dotted path and one more name."""
    return f"{path}.{name}" if path else str(name)


def _walk(model: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        path = join(prefix, name)
        yield path
        if section := _model(field.annotation):
            yield from _walk(section, path)


def _plain(value: object, masked: bool) -> object:
    match value:
        case SecretStr():
            secret = value.get_secret_value()
            return mask(secret) if masked else secret
        case BaseModel():
            names = type(value).model_fields
            return {name: _plain(getattr(value, name), masked) for name in names}
        case dict():
            fields = cast("Tree", value).items()
            return {name: _plain(item, masked) for name, item in fields}
        case tuple():
            return [_plain(item, masked) for item in cast("tuple[object, ...]", value)]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value
