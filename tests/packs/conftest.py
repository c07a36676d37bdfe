"""Packs written to disk for a test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.packs.writing import MANIFEST, SCHEMA, SKILL, MakePack


@pytest.fixture
def make_pack(tmp_path: Path) -> MakePack:
    """Write a pack that loads, with `files` on top; None removes a file."""

    def make(
        name: str = "test", files: Mapping[str, str | None] | None = None, root: str = "packs"
    ) -> Path:
        folder = tmp_path / root / name
        texts: dict[str, str | None] = {
            "pack.yml": MANIFEST.format(name=name),
            "schema.sql": SCHEMA,
            "skills/hello/SKILL.md": SKILL,
            **(files or {}),
        }
        for path, text in texts.items():
            if text is not None:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text, encoding="utf-8")
        return folder

    return make
