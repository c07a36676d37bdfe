"""What of an app runs or speaks, file by file: what an upgrade may change without a permission."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

from aouo.packs.format.manifest import FILE, Manifest
from aouo.packs.shipping.archive import SIGNATURE_FILE

Matter: TypeAlias = Literal["programs", "soul", "skill_texts"]
_SOUL = frozenset({"soul-additions.md", "rules-additions.md", "examples.yml", "menu.json"})
_QUIET = frozenset({"evals", "i18n", "migrations"})
"""Folders of what is shown elsewhere, or neither run in the bot nor read by its model."""


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
            found[name] = Part(matter, hashlib.sha256(content).hexdigest(), len(content))
    said = json.dumps(
        [
            [job.prompt for job in manifest.cron_defaults],
            [
                (tool.name, tool.description, dict(tool.parameters))
                for tool in manifest.runtime.external_tools
            ],
        ],
        default=str,
    ).encode()
    size = files[FILE].stat().st_size if FILE in files else 0
    found[FILE] = Part("soul", hashlib.sha256(said).hexdigest(), size)
    return found


def _matter(manifest: Manifest, name: str) -> Matter | None:
    """None = it is told elsewhere on a card, or nobody obeys it. What is unknown may be run."""
    path = PurePosixPath(name)
    if path.parts[0] == "skills":
        return "skill_texts"
    if name in _SOUL or path.parts[0] == "templates" or name == manifest.fast_paths.menu:
        return "soul"
    told = name in (FILE, SIGNATURE_FILE, manifest.schema.file) or path.parts[0] in _QUIET
    about = len(path.parts) == 1 and path.suffix in ("", ".md", ".txt")
    return None if told or about else "programs"
