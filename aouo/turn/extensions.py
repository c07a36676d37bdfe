"""Adds the owner's steps: Python packages with an entry point in the group `aouo.pipelines`.

Such an entry point names a function that gets the built-in `Pipelines` and returns its own; see
docs/extending.md. Packs cannot bring steps: they bring tools.
"""

from __future__ import annotations

import structlog

from aouo.plumbing import entry_points
from aouo.turn.pipelines import Pipelines, arranged

log = structlog.get_logger()
GROUP = "aouo.pipelines"
WHAT = "pipeline extension"


def extended(pipelines: Pipelines) -> Pipelines:
    """The pipelines with every installed extension, in an order in which all find what they need.

    A turn that silently lacks a step its owner relies on is worse than none, so:

    Raises:
        SetupError: an extension does not load, or does something else than it should.
    """
    for entry in entry_points.found(GROUP):
        extend = entry_points.load(entry, WHAT)
        try:
            result: object = extend(pipelines)
        except Exception as error:
            raise entry_points.failed(entry, WHAT, f"failed: {error!r}") from error
        if not isinstance(result, Pipelines):
            fix = "Let it return what `with_step` gives."
            raise entry_points.failed(entry, WHAT, "returned no Pipelines", fix=fix)
        log.info("pipeline_extended", by=entry.name)
        pipelines = result
    ordered, findings = arranged(pipelines)
    for finding in findings:
        log.warning("pipeline_order", finding=finding)
    return ordered
