"""What a turn leases when it starts: settings, packs, tools, model and pipelines as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aouo.config.settings import Settings
from aouo.facts.ports import ChatModel
from aouo.packs.library import Library
from aouo.spending.money import PackBudget
from aouo.tools.registry import Registry
from aouo.turn.compaction import Compactor
from aouo.turn.pipelines import Pipelines


@dataclass(frozen=True, slots=True)
class Generation:
    """Never changes; a reload makes a new one, and running turns keep theirs."""

    settings: Settings
    library: Library
    registry: Registry
    model: ChatModel
    pipelines: Pipelines
    compactor: Compactor
    budgets: Mapping[str, PackBudget]
    """What packs allow themselves; those without a ceiling are not there."""
