"""Removes the wrong parts of a document, so that its other problems can be found."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, cast

from aouo.packs.format.yaml_text import FieldPath, PlainValue


def without(values: dict[str, PlainValue], wrong: Iterable[FieldPath]) -> dict[str, PlainValue]:
    """Return a copy that lacks the keys at `wrong`, or around them: no item of a list moves."""
    rest = copy.deepcopy(values)
    for path in wrong:
        _take_out(rest, [*path])
    return rest


def _take_out(rest: dict[str, PlainValue], path: list[str | int]) -> None:
    while path and isinstance(path[-1], int):  # the whole list
        path.pop()
    here: Any = rest
    for part in path[:-1]:
        try:
            here = here[part]
        except (LookupError, TypeError):  # it went with what is around it
            return
    if path and isinstance(here, dict):
        cast("dict[object, object]", here).pop(path[-1], None)
