"""The names in a service's own list of models, and those nearest to one that it does not have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import cast

SHOWN = 3
_LIKENESS = 0.4


def sold_by(listed: Mapping[str, object]) -> list[str]:
    """What `GET /models` names: `data[].id` (OpenAI and most), else `models[].name` (Gemini)."""
    for field, key in (("data", "id"), ("models", "name")):
        items = listed.get(field)
        if isinstance(items, list):
            rows = cast("list[dict[str, object] | None]", items)
            names = [row.get(key) for row in rows if isinstance(row, dict)]
            return [name.removeprefix("models/") for name in names if isinstance(name, str)]
    return []


def nearest(wanted: str, names: Iterable[str]) -> tuple[str, ...]:
    """The few names most like `wanted`; among thousands that takes tens of milliseconds."""
    folded = {name.casefold(): name for name in names if name != wanted}
    found = get_close_matches(wanted.casefold(), folded, n=SHOWN, cutoff=_LIKENESS)
    return tuple(folded[name] for name in found)
