"""Adds the owner's steps: Python packages with an entry point in the group `aouo.pipelines`.

Such an entry point names a function that gets the built-in `Pipelines` and returns its own; see
docs/extending.md. Packs cannot bring steps: they bring tools.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import structlog

from aouo.facts.errors import SetupError
from aouo.turn.pipelines import Pipelines, arranged

log = structlog.get_logger()
GROUP = "aouo.pipelines"


def extended(pipelines: Pipelines) -> Pipelines:
    """The pipelines with every installed extension, in an order in which all find what they need.

    A turn that silently lacks a step its owner relies on is worse than none, so:

    Raises:
        SetupError: an extension does not load, or does something else than it should.
    """
    for entry in _installed(tuple((folder, _changed_at(folder)) for folder in sys.path)):
        try:
            result: object = entry.load()(pipelines)
        except Exception as error:
            raise SetupError(
                f"The pipeline extension {entry.name!r} ({entry.value}) failed: {error!r}.",
                fix="Mend or uninstall its package.",
            ) from error
        if not isinstance(result, Pipelines):
            raise SetupError(
                f"The pipeline extension {entry.name!r} ({entry.value}) returned no Pipelines.",
                fix="Let it return what `with_step` gives.",
            )
        log.info("pipeline_extended", by=entry.name)
        pipelines = result
    ordered, findings = arranged(pipelines)
    for finding in findings:
        log.warning("pipeline_order", finding=finding)
    return ordered


@lru_cache(maxsize=1)
def _installed(folders: Sequence[tuple[str, int]]) -> tuple[EntryPoint, ...]:
    """The extensions in these folders, by name; looked for again when one of them changed."""
    del folders  # the key: what is searched is `sys.path`
    return tuple(sorted(entry_points(group=GROUP), key=lambda found: found.name))


def _changed_at(folder: str) -> int:
    """When something was put into a folder or taken out, in ns; 0 if there is none."""
    try:
        return Path(folder).stat().st_mtime_ns
    except OSError:
        return 0
