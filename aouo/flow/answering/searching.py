"""Searches what packs keep for somebody, by their own searches, and reads whose row words name."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from aouo.agent.tools import actions as tools
from aouo.agent.tools.actions import Doing, filled, shown_cells
from aouo.agent.tools.named_rows import RowUnclear
from aouo.facts.errors import ToolFailed
from aouo.facts.events import Inbound
from aouo.facts.work import Act
from aouo.flow.handlers.menus import Menus
from aouo.packs.actions import spoken
from aouo.packs.actions.declared import Action
from aouo.packs.data.reading import ALL
from aouo.packs.library import Library
from aouo.packs.load import Pack
from aouo.words.catalogue import text

_LINES_MAX = 10
"""So many hits of one pack are shown, and how many more there are."""


@dataclass(frozen=True, slots=True)
class Searching:
    """Reads the databases of packs for one person, each as whose data that pack shows them."""

    doing: Doing
    menus: Menus

    async def hits(
        self, inbound: Inbound, library: Library, first: str, words: str
    ) -> tuple[str, str]:
        """Return what the packs of a library keep of some words, that of `first` before the
        others', and the pack that keeps it, "" = none; in a shared place only the first is looked
        at. The others' rows stand below their names. Where nothing holds all of the words, it is
        what holds the most of them, at least half."""
        apart = inbound.chat_kind == "private" and not inbound.address.thread_id
        names = sorted(library.names, key=lambda name: name != first)
        packs = [library.packs[name] for name in names if apart or name == first]
        telling = spoken.telling(words) or [words]
        held: list[Counter[str]] = [Counter() for _ in packs]
        for pack, counts in zip(packs, held, strict=True):
            for word in telling:
                counts.update(dict.fromkeys(await self._lines(inbound, pack, word), 1))
        most = max((count for counts in held for count in counts.values()), default=0)
        blocks: list[str] = []
        keeper = ""
        for pack, counts in zip(packs, held, strict=True):
            lines = [line for line, count in counts.items() if count == most >= len(telling) / 2]
            if more := len(lines) - _LINES_MAX:
                lines[_LINES_MAX:] = [text("actions.more-rows", count=more)] if more > 0 else []
            head = pack.said(inbound.person.language, pack.manifest.display_name)
            if lines:
                keeper = keeper or pack.name
                named = [] if pack.name == keeper else [f"{pack.manifest.icon} {head}:".strip()]
                blocks.append("\n".join([*named, *lines]))
        if keeper and most < len(telling):
            blocks.insert(0, text("actions.nearly-kept"))
        return "\n\n".join(blocks) or text("actions.nothing-kept", words=words), keeper

    async def _lines(self, inbound: Inbound, pack: Pack, words: str) -> list[str]:
        searches = [action for action in pack.declared.actions.values() if action.search]
        if not searches:
            return []
        tenant = await self.menus.tenant(inbound, pack.name)
        await self.menus.reminders.fill(pack, tenant, inbound.person)
        here = tools.here_of(self.doing, inbound.person)

        def look(action: Action) -> list[str]:
            store, (name,) = self.doing.open_store(pack.name, tenant), action.arguments
            row = pack.said(here.language, action.row)
            found = store.read(action.find, {name: words}, limit=ALL)
            lines = (filled(row, {name: words, **shown_cells(one, here)}) for one in found)
            return [line for line in lines if line]

        return [line for action in searches for line in await asyncio.to_thread(look, action)]

    async def has_row(self, inbound: Inbound, pack: Pack, act: Act) -> bool:
        """Whether the words of an act name rows that are there."""
        action = pack.declared.actions[act.tool.partition("__")[2]]
        tenant = await self.menus.tenant(inbound, pack.name)
        await self.menus.reminders.fill(pack, tenant, inbound.person)
        here = tools.here_of(self.doing, inbound.person)
        rows = action.model_copy(update={"arguments": action.rows})
        given: Mapping[str, object] = {name: act.arguments.get(name) for name in action.rows}

        def look() -> bool:
            store = self.doing.open_store(pack.name, tenant)
            try:
                tools.bound(pack, rows, given, here, store, tenant)
            except RowUnclear as error:
                return bool(error.rows)
            except ToolFailed:
                return False
            return True

        return await asyncio.to_thread(look)
