"""The runtime's own files: no tool reads or writes them, whatever a policy says.

A path counts as it resolves, links followed, so that another spelling is no way around.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from aouo.guard.action import Action, Allowed, Blocked, Verdict
from aouo.guard.paths import mentioned, quoted, resolved
from aouo.guard.sent_files import SentFiles

_PROCESSES = Path("/proc")
"""Holds every process's environment, and with it our keys."""
_LINKED = ("config.json", "SOUL.md", "RULES.md", "HEARTBEAT.md", "packs", "packs/*", "skills/*")


class Protection:
    """Guards one home; inside it only the acting pack's data folder is open to tools.

    `folder_of` gives that folder for a pack and whose data it is. Closed as well is what the
    home only links to, and `packs_in`: folders of packs, whose permissions stand in their files.
    """

    def __init__(
        self,
        *,
        home: Path,
        folder_of: Callable[[str, str], Path],
        packs_in: Sequence[Path] = (),
        sent: SentFiles | None = None,
    ) -> None:
        self._sent = sent
        self._home = home.resolve()
        self._folder_of = folder_of
        self._packs_in = tuple(packs_in)

    def judge(self, action: Action) -> Verdict:
        """Pure but for resolving links."""
        named = tuple(self._named(action))
        if not named:
            return Allowed("no file")
        own = self._folder_of(action.pack, action.tenant).resolve()
        closed = self.closed()
        for text, path in named:
            if path is None:
                return Blocked(f"{quoted(text)} is not a path that can be checked.", rule="no path")
            if action.pack and path.is_relative_to(own):
                continue
            if self._sent and self._sent.opens(action, path):
                continue
            if any(path.is_relative_to(folder) for folder in closed):
                return Blocked(
                    f"{quoted(text)} belongs to the runtime itself and is closed to tools. "
                    "Use the pack's own data folder; what is remembered is read with the memory "
                    "tool.",
                    rule="a file of the runtime itself",
                )
        return Allowed("no protected file")

    def _named(self, action: Action) -> Iterator[tuple[str, Path | None]]:
        """What the call is bound to, and what else in it may be a path, as text and path."""
        yield from ((str(touched.path), touched.path) for touched in action.paths)
        is_foreign = "__" in action.tool
        bases = [self._folder_of(action.pack, action.tenant).resolve()]
        if action.tool.startswith("mcp__"):
            bases.append(Path.home())  # where `app.mcp_link` starts a server
        for text in mentioned(action.payload, anywhere=is_foreign):
            yield from ((text, resolved(text, base)) for base in bases)

    def closed(self) -> tuple[Path, ...]:
        """The folders and files that no tool may touch, links followed."""
        return tuple(self._closed())

    def _closed(self) -> Iterator[Path]:
        yield self._home
        yield _PROCESSES
        yield from (folder.resolve() for folder in self._packs_in)
        for pattern in _LINKED:
            yield from (entry.resolve() for entry in self._home.glob(pattern) if entry.is_symlink())
