"""Places where a test kills this very process, to prove that nothing is lost there.

With `AOUO_KILL_AT=n` in the environment the n-th place reached ends the process as
`kill -9` would; `AOUO_KILL_COUNT=FILE` writes how many were reached to that file at exit.
Without them `reached` does nothing.
"""

from __future__ import annotations

import atexit
import itertools
import os
import signal
import threading
from pathlib import Path

_kill_at = int(os.environ.get("AOUO_KILL_AT", "0"))
_count_file = os.environ.get("AOUO_KILL_COUNT", "")
_armed = bool(_kill_at or _count_file)
_places = itertools.count(1)
_last = 0
_lock = threading.Lock()


def reached(place: str) -> None:
    """Count one place; the name is for the reader."""
    del place
    if not _armed:
        return
    global _last
    with _lock:
        _last = next(_places)
        if _last == _kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


if _count_file:
    atexit.register(lambda: Path(_count_file).write_text(str(_last), encoding="utf-8"))
