"""Finds the packs that come with aouo."""

from __future__ import annotations

from pathlib import Path


def sample_packs() -> list[Path]:
    """Return the folders of the sample packs, in the checkout or in the installed package."""
    import aouo

    package = Path(aouo.__file__).parent
    places = (package.parent / "packs", package / "sample_packs")
    folder = next((place for place in places if place.is_dir()), places[1])
    return sorted(file.parent for file in folder.glob("*/pack.yml"))
