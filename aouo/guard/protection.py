"""Closes the runtime's own files to every tool, whatever a policy says.

Paths are judged as they resolve, with links followed, so another spelling is no way around.
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

    `folder_of` gives that folder for a pack and a tenant. Also closed are the targets of links in
    the home, and `packs_in`, folders of packs, since their files hold their permissions.
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
        """Block a call that names a closed file. Pure except for resolving links."""
        named = tuple(self._named(action))
        if not named:
            return Allowed("no file")
        own = self._folder_of(action.facts.pack, action.facts.tenant).resolve()
        closed = self.closed()
        for text, path in named:
            if path is None:
                return Blocked(
                    f"{quoted(text)} is not a path that can be checked.", "no path", "protection"
                )
            if action.facts.pack and path.is_relative_to(own):
                continue
            if self._sent and self._sent.opens(action, path):
                continue
            if any(path.is_relative_to(folder) for folder in closed):
                return Blocked(
                    f"{quoted(text)} belongs to the runtime itself and is closed to tools. "
                    "Use the pack's own data folder; what is remembered is read with the memory "
                    "tool.",
                    rule="a file of the runtime itself",
                    judge="protection",
                )
        return Allowed("no protected file")

    def _named(self, action: Action) -> Iterator[tuple[str, Path | None]]:
        """Find the paths that the call is bound to or may name otherwise: (text, path)."""
        yield from ((str(touched.path), touched.path) for touched in action.paths)
        is_foreign = "__" in action.tool
        bases = [self._folder_of(action.facts.pack, action.facts.tenant).resolve()]
        if action.tool.startswith("mcp__"):
            bases.append(Path.home())  # where `tools.mcp_link` starts a server
        for text in mentioned(action.payload, anywhere=is_foreign):
            yield from ((text, resolved(text, base)) for base in bases)

    def closed(self) -> tuple[Path, ...]:
        """Return the folders and files that no tool may touch, with links followed."""
        return tuple(self._closed())

    def _closed(self) -> Iterator[Path]:
        yield self._home
        yield _PROCESSES
        yield from (folder.resolve() for folder in self._packs_in)
        for pattern in _LINKED:
            yield from (entry.resolve() for entry in self._home.glob(pattern) if entry.is_symlink())
