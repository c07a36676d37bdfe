"""The runtime's own files: no tool reads or writes them, whatever a policy says.

A path counts as it resolves, links followed, so that another spelling is no way around.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from aouo.guard.action import Action, Allowed, Blocked, Verdict
from aouo.guard.paths import mentioned, resolved

_PROCESSES = Path("/proc")
"""Holds every process's environment, and with it our keys."""


class Protection:
    """Guards one home; inside it only the acting pack's data folder is open to tools.

    `folder_of` gives that folder for a pack and whose data it is. Closed as well is what the
    home only links to: the configuration, and packs, whose permissions stand in their files.
    """

    def __init__(self, *, home: Path, folder_of: Callable[[str, str], Path]) -> None:
        self._home = home.resolve()
        self._folder_of = folder_of

    def judge(self, action: Action) -> Verdict:
        """Pure but for resolving links."""
        texts = tuple(mentioned(action.payload))
        if not texts:
            return Allowed("no file")
        own = self._folder_of(action.pack, action.owner).resolve()
        for text in texts:
            path = resolved(text, own)
            if path is None:
                return Blocked(f"{text!r} is not a path that can be checked.", rule="no path")
            if action.pack and path.is_relative_to(own):
                continue
            if any(path.is_relative_to(closed) for closed in self._closed()):
                return Blocked(
                    f"{text!r} belongs to the runtime itself and is closed to tools. "
                    "Use the pack's own data folder.",
                    rule="a file of the runtime itself",
                )
        return Allowed("no protected file")

    def _closed(self) -> Iterator[Path]:
        yield self._home
        yield _PROCESSES
        packs = self._home / "packs"
        entries = packs.iterdir() if packs.is_dir() else iter(())
        for entry in (self._home / "config.json", *entries):
            if entry.is_symlink():
                yield entry.resolve()
