"""Replaces paths of this machine in what a model reads by names that it may use itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from aouo.guard.action import Action
from aouo.guard.sent_files import FOLDER

HOME = "[home]"
_OWN = "the pack's own folder"


def hiding(
    *, home: Path, media: Path, folder_of: Callable[[str, str], Path]
) -> Callable[[Action, str], str]:
    """Return what hides the paths of one home in a text: files of the acting pack, and those sent
    to its conversation, are named as the model names them.

    `folder_of` gives a pack's data folder for a tenant.
    """
    homes = sorted({str(home), str(home.resolve())}, key=len, reverse=True)

    def hidden(action: Action, text: str) -> str:
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
