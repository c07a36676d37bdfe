"""The tools that look outside: the web and documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import aiohttp

from aouo.config.settings import Tools
from aouo.documents.reading import DocumentReader
from aouo.facts.ports import Clock
from aouo.packs.library import Library
from aouo.packs.stores import PackStores
from aouo.tools.fetch import fetch
from aouo.tools.read_document import read_document
from aouo.tools.registry import Tool
from aouo.tools.web_search import web_search
from aouo.web.client import Web
from aouo.web.offline import nobody_looks_up, nowhere

_EVERYWHERE = ("*",)


def outside(
    settings: Tools,
    library: Callable[[], Library],
    stores: PackStores,
    *,
    session: aiohttp.ClientSession,
    clock: Clock,
    online: bool = True,
) -> list[Tool]:
    """A pack reads the hosts that it names; without a pack, every public one."""

    def _hosts(pack: str) -> Sequence[str]:
        found = library().get(pack)
        if not pack:
            return _EVERYWHERE
        return found.manifest.permissions.network if found else ()

    reader = DocumentReader()
    return [
        fetch(_hosts, Web() if online else Web(lookup=nobody_looks_up, admits=nowhere), reader),
        web_search(settings.web_search, session, clock),
        read_document(stores.folder, reader),
    ]
