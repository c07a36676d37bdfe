"""The files that people sent: open to the conversation that they were sent to, for reading."""

from __future__ import annotations

from pathlib import Path

from aouo.guard.action import Action

READERS = frozenset({"read_document", "read_file"})
FOLDER = "sent/"
"""How a model names such a file: `sent/<name>`, wherever the home is."""


class SentFiles:
    """Knows what of the media folder `root` an action may read."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def named(self, action: Action, text: str) -> Path | None:
        """The file that `text` names as one of the action's conversation; None = there is none."""
        name = text.strip().removeprefix(FOLDER)
        if not action.media or name == text.strip() or "/" in name or "\0" in name:
            return None
        file = self._root / action.media / name
        return file.resolve() if file.is_file() and self.opens(action, file.resolve()) else None

    def opens(self, action: Action, path: Path) -> bool:
        """Whether `path`, links followed, is a file of the action's own conversation."""
        if action.tool not in READERS or not action.media:
            return False
        folder = (self._root / action.media).resolve()
        return folder.parent == self._root.resolve() and path.is_relative_to(folder)
