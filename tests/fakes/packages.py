"""Lays Python packages down as an installer would, so that their entry points are found."""

from __future__ import annotations

from pathlib import Path

import pytest


def lay_down(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str, entry_points: str
) -> None:
    """Make `name` importable with these entry points: `[group]` and lines below it."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(code)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
    monkeypatch.syspath_prepend(folder)
