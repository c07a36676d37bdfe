"""Reads what a language brings: the files of its folder `aouo/words/<language>`.

A folder is a language. `spelling.yml` says how it is called and written; `sentences.yml` is its
catalogue, `talk.yml` its small talk, `times.yml`, `numbers.yml` and `phrases.yml`
what is understood of it, `claims.yml` how it says that something was done. A file that is missing
holds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Protocol, TypeVar

FOLDER: Traversable = files("aouo.words")
FIRST = "en"
"""What is spoken with whoever speaks none of them."""


class _Cached(Protocol):
    def cache_clear(self) -> None: ...


_C = TypeVar("_C", bound=_Cached)
_DERIVED: list[_Cached] = []


def derived(cached: _C) -> _C:
    """Clear a cache of what was made of the folders when they are read anew."""
    _DERIVED.append(cached)
    return cached


@derived
@cache
def names() -> Mapping[str, str]:
    """Return all languages: code → its own name, `FIRST` first."""
    codes = {entry.name for entry in FOLDER.iterdir() if (entry / "spelling.yml").is_file()}
    ordered = sorted(codes, key=lambda code: (code != FIRST, code))
    return {code: str(table(code, "spelling")["name"]) for code in ordered}


def base_of(tag: str) -> str:
    """Return the language of a tag such as "de-AT"; `FIRST` where there is no folder for it."""
    base = tag.casefold().replace("_", "-").partition("-")[0]
    return base if base in names() else FIRST


@derived
@cache
def table(language: str, name: str) -> Mapping[str, Any]:
    """Return what a language's file `name` holds."""
    file = FOLDER / language / f"{name}.yml"
    return (_read(file) or {}) if file.is_file() else {}


def bundled(package: str, name: str) -> Any:
    """Return what a YAML file holds that lies beside the code of a package."""
    return _read(files(package) / name)


def _read(file: Traversable) -> Any:
    import yaml

    return yaml.load(file.read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@derived
@cache
def words(name: str, key: str) -> tuple[str, ...]:
    """Return the words of all languages under a key of their files `name`: lists, or one line."""
    values = (table(language, name).get(key, ()) for language in names())
    lists = (value.split() if isinstance(value, str) else value for value in values)
    return tuple(dict.fromkeys(str(word) for words in lists for word in words))


@derived
@cache
def pairs(name: str, key: str) -> Mapping[str, str]:
    """Return what all languages map under a key of their files `name`; the first one counts."""
    found: dict[str, str] = {}
    for language in reversed([*names()]):
        found |= table(language, name).get(key, {})
    return found


def forget() -> None:
    """Read all folders anew."""
    for cached in _DERIVED:
        cached.cache_clear()
