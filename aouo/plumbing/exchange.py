"""Puts another home's files in the place of those that are there, also if it is killed meanwhile.

One rename says that it is meant. From there on each step may be done twice, and whoever locks the
home next goes on with it. What was there before lies in a folder of its own, whole.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from aouo.plumbing import failpoint

UNPACKED: Final = ".restore-unpacked"
"""The folder in a home whose files are to be its own; whatever is in it counts for nothing yet."""
_MEANT: Final = ".restore-meant"
_FRESH, _READY, _ASIDE = "new", "ready", "aside"
BEFORE: Final = "before-restore-"
_STAYS: Final = ("run", UNPACKED, _MEANT)


def fresh(home: Path) -> Path:
    """Return where the files are to be put that `begin` will mean."""
    return home / UNPACKED / _FRESH


def begin(home: Path, stamp: str) -> Path:
    """Mean it; return the folder that will hold what is there now."""
    aside = home / f"{BEFORE}{stamp}"
    (home / UNPACKED / _ASIDE).write_text(aside.name)
    os.sync()  # what is unpacked is on disk before it counts
    failpoint.reached("before a home is to be exchanged")
    (home / UNPACKED).rename(home / _MEANT)
    failpoint.reached("after a home is to be exchanged")
    return aside


def finish(home: Path) -> bool:
    """Exchange the files, if it is meant, or what a killed process left of it; tell whether."""
    meant = home / _MEANT
    if not meant.is_dir():
        return False
    aside = home / (meant / _ASIDE).read_text()
    aside.mkdir(mode=0o700, exist_ok=True)
    new, ready = meant / _FRESH, meant / _READY
    if new.is_dir():
        for name in _names(home):
            if name not in _STAYS and not name.startswith(BEFORE):
                _put_aside(home / name, aside)
        new.rename(ready)
    for name in _names(ready):
        if os.path.lexists(home / name):  # made by whoever looked while it was aside
            _put_aside(home / name, aside)
        failpoint.reached("before a part of a home moves")
        (ready / name).rename(home / name)
    os.sync()
    failpoint.reached("after a home is exchanged")
    meant.rename(home / UNPACKED)
    return True


def _names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def _put_aside(there: Path, aside: Path) -> None:
    target = aside / there.name
    while os.path.lexists(target):
        target = target.with_name(f"{target.name}.late")
    failpoint.reached("before a part of a home moves")
    there.rename(target)
