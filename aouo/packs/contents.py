"""Lists the files of an app that run or speak, which an upgrade may change without permission."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

from aouo.packs.data.schema_guard import SchemaRefused
from aouo.packs.data.schema_text import normal, split
from aouo.packs.format.manifest import FILE, Manifest
from aouo.packs.shipping.archive import SIGNATURE_FILE

Matter: TypeAlias = Literal["programs", "soul", "skill_texts"]
_SOUL = frozenset({"soul-additions.md", "rules-additions.md", "examples.yml", "menu.json"})
_SPEAKS = frozenset({"i18n", "templates"})
_ABOUT = frozenset(
    {"authors", "changelog", "contributing", "copying", "license", "notice", "readme"}
)
_TABLES = frozenset({"CREATE TABLE", "CREATE VIRTUAL TABLE", "CREATE INDEX", "PRAGMA"})
"""What of a schema a card tells as tables, or what changes nothing that is read or done."""


@dataclass(frozen=True, slots=True)
class Part:
    """One file: what it is for, its hash and its size."""

    matter: Matter
    sha256: str
    size_bytes: int


def parts(manifest: Manifest, files: Mapping[str, Path]) -> dict[str, Part]:
    """Say of each file of an app that runs or speaks what it holds."""
    found: dict[str, Part] = {}
    for name, path in files.items():
        matter = _matter(manifest, name)
        if matter is not None:
            content = path.read_bytes()
            kept = _besides_tables(content) if name == manifest.schema.file else content
            found[name] = Part(matter, hashlib.sha256(kept).hexdigest(), len(content))
    said = json.dumps(
        [
            [job.prompt for job in manifest.cron_defaults],
            [
                (tool.name, tool.description, dict(tool.parameters))
                for tool in manifest.runtime.external_tools
            ],
            [asdict(manifest.context), asdict(manifest.fast_paths)],
            [(watch.skill, watch.prompt, watch.sql) for watch in manifest.watches],
        ],
        default=str,
    ).encode()
    size = files[FILE].stat().st_size if FILE in files else 0
    found[FILE] = Part("soul", hashlib.sha256(said).hexdigest(), size)
    return found


def _matter(manifest: Manifest, name: str) -> Matter | None:
    """None = it is told elsewhere on a card, or nobody obeys it. What is unknown may be run."""
    path = PurePosixPath(name)
    if name in (FILE, SIGNATURE_FILE):
        return None
    if path.parts[0] == "skills":
        return "skill_texts"
    if name in _named_by_commands(manifest):
        return "programs"
    menu = PurePosixPath(manifest.fast_paths.menu).as_posix()
    if name in _SOUL or path.parts[0] in _SPEAKS or name == menu:
        return "soul"
    about = len(path.parts) == 1 and path.suffix in ("", ".md", ".txt")
    is_about = about and path.stem.lower() in _ABOUT
    is_eval = path.parts[0] == "evals" and path.suffix in (".yml", ".yaml")
    return None if is_about or is_eval else "programs"


def _named_by_commands(manifest: Manifest) -> frozenset[str]:
    """The words of the commands that a model may start, as paths inside the app."""
    words: list[str] = []
    for tool in manifest.runtime.external_tools:
        with contextlib.suppress(ValueError):  # an open quote: it is no tool then
            words += shlex.split(tool.command)
    return frozenset(PurePosixPath(word).as_posix() for word in words)


def _besides_tables(content: bytes) -> bytes:
    """What a schema has besides tables: triggers and views, which run, and first rows."""
    try:
        statements = split(content.decode("utf-8-sig"))
    except (SchemaRefused, UnicodeDecodeError):
        return content
    kept = [normal(one.sql) for one in statements if one.head not in _TABLES]
    return "\n".join(kept).encode()
