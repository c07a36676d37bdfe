"""Lets tools read files that people sent there, and names files for a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from aouo.guard.prepared import PreparedCall

READERS = frozenset({"read_document", "read_file"})
"""The built-in tools that may read sent files; a pack's own tools may, too."""
FOLDER = "sent/"
"""How a model names such a file: `sent/<name>`, wherever the home is."""


@dataclass(slots=True, eq=False)
class SentFiles:
    """Knows what of the media folder `root` an action may read."""

    root: Path

    def named(self, action: PreparedCall, text: str) -> Path | None:
        """Return the sent file of the action's conversation that `text` names, None = none."""
        return self._find(action.facts.address.folder, text) if _may_read(action) else None

    def opens(self, action: PreparedCall, path: Path) -> bool:
        """Whether the action may read `path`, resolved, as a file sent to its conversation."""
        return _may_read(action) and self.holds(action.facts.address.folder, path)

    def given(
        self, media: str, payload: Mapping[str, Any]
    ) -> tuple[dict[str, Any], tuple[Path, ...]]:
        """Return the arguments with each `sent/<name>` as its path, and these files.

        `media` is the conversation's folder, as in `PreparedCall`.
        """
        found: list[Path] = []

        def placed(value: object) -> object:
            match value:
                case str() if file := self._find(media, value):
                    found.append(file)
                    return str(file)
                case list():
                    return [placed(item) for item in cast("list[object]", value)]
                case Mapping():
                    items = cast("Mapping[str, object]", value).items()
                    return {key: placed(item) for key, item in items}
                case _:
                    return value

        return {key: placed(value) for key, value in payload.items()}, tuple(dict.fromkeys(found))

    def _find(self, media: str, text: str) -> Path | None:
        name = text.strip().removeprefix(FOLDER)
        if not media or name == text.strip() or "/" in name or "\0" in name:
            return None
        try:
            file = (self.root / media / name).resolve()
            return file if file.is_file() and self.holds(media, file) else None
        except OSError:  # no name of a file is that long
            return None

    def holds(self, media: str, path: Path) -> bool:
        """Whether `path`, links followed, was sent to the conversation whose folder is `media`."""
        folder = (self.root / media).resolve()
        return bool(media) and folder.parent == self.root.resolve() and path.is_relative_to(folder)


def _may_read(action: PreparedCall) -> bool:
    return action.tool in READERS or (
        bool(action.facts.pack) and action.tool.startswith(f"{action.facts.pack}__")
    )


HOME = "[home]"
_OWN = "the pack's own folder"


def hiding(
    *, home: Path, media: Path, folder_of: Callable[[str, str], Path]
) -> Callable[[PreparedCall, str], str]:
    """Return what hides the paths of one home in a text: files of the acting pack, and those sent
    to its conversation, are named as the model names them.

    `folder_of` gives a pack's data folder for a tenant.
    """
    homes = sorted({str(home), str(home.resolve())}, key=len, reverse=True)

    def hidden(action: PreparedCall, text: str) -> str:
        if not any(home in text for home in homes):
            return text
        own = folder_of(action.facts.pack, action.facts.tenant)
        for folder, name in ((own, ""), (media / action.facts.address.folder, FOLDER)):
            for path in {str(folder), str(folder.resolve())}:
                text = re.sub(f"{re.escape(path)}/(?=[^\\s/])", name, text)
                text = re.sub(f"{re.escape(path)}{_END}", name or _OWN, text)
        for path in homes:
            text = re.sub(f"{re.escape(path)}{_END}", HOME, text)
        return text

    return hidden


_END = r"(?![\w-])"
"""The name of a folder ends here; `/data` is no part of `/database`."""
