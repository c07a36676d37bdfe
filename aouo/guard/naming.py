"""Replaces paths of this machine in what a model reads by names that it may use itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from aouo.guard.action import Action
from aouo.guard.sent_files import FOLDER

HOME = "[home]"
_OWN = "the pack's own folder"


class Naming:
    """Hides the paths of one home; `folder_of` gives a pack's data folder for a tenant."""

    def __init__(self, *, home: Path, media: Path, folder_of: Callable[[str, str], Path]) -> None:
        self._homes = {str(home), str(home.resolve())}
        self._media = media
        self._folder_of = folder_of

    def hidden(self, action: Action, text: str) -> str:
        """Return `text` without the home's path: files of the acting pack, and those sent to its
        conversation, are named as the model names them."""
        if not any(home in text for home in self._homes):
            return text
        own = self._folder_of(action.facts.pack, action.facts.tenant)
        for folder, name in ((own, ""), (self._media / action.facts.address.folder, FOLDER)):
            for path in {str(folder), str(folder.resolve())}:
                text = re.sub(f"{re.escape(path)}/(?=[^\\s/])", name, text)
                text = re.sub(f"{re.escape(path)}{_END}", name or _OWN, text)
        for path in sorted(self._homes, key=len, reverse=True):
            text = re.sub(f"{re.escape(path)}{_END}", HOME, text)
        return text


_END = r"(?![\w-])"
"""The name of a folder ends here; `/data` is no part of `/database`."""
