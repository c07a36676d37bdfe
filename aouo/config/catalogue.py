"""Lists every key: what it may be, what it means, and whether the local page may change it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, cast, get_args, get_origin

from pydantic import BaseModel, SecretStr, TypeAdapter
from pydantic_core import PydanticUndefined

from aouo.config.docs import docstrings
from aouo.config.keys import Tree, plain_value
from aouo.config.settings import Settings
from aouo.config.values import HARMLESS

_Kind: TypeAlias = Literal["section", "value", "secret", "names"]
"""A group of keys; a value that may be shown; one that may not; or things that the owner named,
each with keys of its own or with a secret, of which only the names are shown."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key. `names` is its path in parts, of which some may be names of the owner's; `below` is
    the section of a group, or of each named thing; `default` is None where a value is required;
    `on_page`: whether the page may change it; `adapter` tells whether it takes a value."""

    kind: _Kind
    below: type[BaseModel] | None
    schema: Tree
    about: str
    default: object
    on_page: bool
    adapter: TypeAdapter[Any]
    names: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        return ".".join(self.names)


def sections() -> dict[str, str]:
    """Return the sections in their order, and what each is."""
    return {name: _about(Settings, name) for name in Settings.model_fields}


def keys_in(*trees: Tree) -> Iterator[Key]:
    """Yield every key in its order; things that the owner named are those in `trees`."""
    yield from _keys(Settings, (), trees)


def value_at(tree: Tree, names: Sequence[str]) -> tuple[object, bool]:
    """Return the value at a path, and whether there is one."""
    here: Any = tree
    for name in names:
        if not isinstance(here, dict) or name not in here:
            return None, False
        here = cast("Tree", here)[name]
    return here, True


def _is_harmless(kind: Any) -> bool:
    """Whether no value of a type can name a program, a path or an address, or be a secret."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _is_marked(arguments[1:]) or _is_harmless(arguments[0])
    if origin in (Union, UnionType, tuple):
        return all(map(_is_harmless, arguments))
    if origin is dict:
        return _is_harmless(arguments[1])
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        fields = kind.model_fields.values()
        return all(_is_marked(one.metadata) or _is_harmless(one.annotation) for one in fields)
    return origin is Literal or kind in (bool, int, float, NoneType, ...)


def _is_marked(metadata: Sequence[object]) -> bool:
    return HARMLESS in metadata


def _keys(
    section: type[BaseModel], before: tuple[str, ...], trees: Sequence[Tree]
) -> Iterator[Key]:
    for name in section.model_fields:
        names = (*before, name)
        key = replace(_key(section, name), names=names)
        if key.kind == "section":
            within = [names]
        else:
            yield key
            within = [(*names, named) for named in _names_at(trees, names)]
        if key.below:
            for each in within:
                yield from _keys(key.below, each, trees)


def _names_at(trees: Sequence[Tree], names: Sequence[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for tree in trees:
        value, _ = value_at(tree, names)
        if isinstance(value, dict):
            found |= dict.fromkeys(map(str, cast("Tree", value)))
    return tuple(found)


@cache
def _key(section: type[BaseModel], name: str) -> Key:
    """Return a key without its path, since a section may stand in many places."""
    info = section.model_fields[name]
    kind: Any = info.annotation
    adapter: TypeAdapter[Any] = TypeAdapter(_whole(kind, info.metadata))
    harmless = _is_marked(info.metadata) or _is_harmless(kind)
    shown, below = _shown_as(kind, harmless=harmless)
    return Key(
        shown,
        below,
        {} if below else _flat(adapter.json_schema()),
        _about(section, name),
        None if info.default is PydanticUndefined else plain_value(info.default),
        harmless or kind is SecretStr,
        adapter,
    )


def _whole(kind: Any, metadata: Sequence[object]) -> Any:
    return Annotated[(kind, *metadata)] if metadata else kind


def _shown_as(kind: Any, *, harmless: bool) -> tuple[_Kind, type[BaseModel] | None]:
    """Return how a field of a type is shown, and the keys that lie below it."""
    if kind is SecretStr:
        return "secret", None
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "section", kind
    if get_origin(kind) is dict and not harmless:
        of = get_args(kind)[1]
        if of is SecretStr:
            return "names", None
        if isinstance(of, type) and issubclass(of, BaseModel):
            return "names", of
    return "value", None


def _about(section: type[BaseModel], name: str) -> str:
    return docstrings()[section.__name__].get(name, "")


def _flat(schema: Tree) -> Tree:
    """Return a JSON Schema without references: what they lead to stands in their place."""
    meant = cast("Tree", schema.pop("$defs", {}))

    def flat(node: object) -> object:
        match node:
            case {"$ref": str(where)}:
                return flat(meant[where.rpartition("/")[2]])
            case dict():
                items = cast("Tree", node).items()
                return {name: flat(one) for name, one in items if name not in ("title", "default")}
            case list():
                return [flat(one) for one in cast("list[object]", node)]
            case _:
                return node

    return cast("Tree", flat(schema))
