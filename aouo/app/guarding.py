"""Builds what guards tools: the fence, the protection, and the shelf for long results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from aouo.config.settings import Security
from aouo.facts.events import Event
from aouo.facts.ports import Clock
from aouo.guard.chain import Guard
from aouo.guard.fence import Fence
from aouo.guard.naming import Naming
from aouo.guard.protection import Protection
from aouo.guard.sent_files import SentFiles
from aouo.packs.library import Library
from aouo.packs.stores import PackStores
from aouo.plumbing.home import Home
from aouo.store.database import Database
from aouo.tools.files import list_dir, read_file, write_file
from aouo.tools.registry import Tool
from aouo.tools.results import Results, result_read


@dataclass(frozen=True, slots=True)
class Guarding:
    """One for a runtime; `tools` are those that work inside it."""

    fence: Fence
    protection: Protection
    results: Results
    sent: SentFiles
    naming: Naming
    tools: tuple[Tool, ...]

    def guard(
        self,
        *,
        database: Database,
        clock: Clock,
        redact: Callable[[str], str],
        publish: Callable[[Event], None],
    ) -> Guard:
        return Guard(
            database=database,
            clock=clock,
            bind=self.fence.bind,
            judges=[self.protection.judge, self.fence.judge],
            shelf=self.results,
            redact=redact,
            hidden=self.naming.hidden,
            publish=publish,
        )


def guarding(
    home: Home,
    security: Security,
    library: Callable[[], Library],
    stores: PackStores,
    *,
    database: Database,
    clock: Clock,
    scan_dirs: Sequence[str] = (),
) -> Guarding:
    """Build what the owner's settings and the packs' manifests ask for.

    `scan_dirs` are folders beside the home in which packs lie.
    """

    def files_of(pack: str) -> tuple[str, ...]:
        found = library().get(pack)
        return found.manifest.permissions.files if found else ()

    sent = SentFiles(home.media)
    fence = Fence(
        allowed=security.allowed_paths,
        mode=security.fence_mode,
        files_of=files_of,
        folder_of=stores.folder,
        sent=sent,
    )
    results = Results(database=database, clock=clock)
    return Guarding(
        fence,
        Protection(
            home=home.path,
            folder_of=stores.folder,
            sent=sent,
            packs_in=[Path(folder).expanduser() for folder in scan_dirs],
        ),
        results,
        sent,
        Naming(home=home.path, media=home.media, folder_of=stores.folder),
        (
            read_file(stores.folder, sent.holds),
            write_file(stores.folder, fence.root_of),
            list_dir(stores.folder),
            result_read(results),
        ),
    )
