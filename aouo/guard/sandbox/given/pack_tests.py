"""Runs a pack's own tests inside the sandbox, for `aouo pack test`."""

from __future__ import annotations

import io
import unittest

_TOLD_CHARS = 8_000


def run(folder: str) -> dict[str, object]:
    """Run all that `unittest` finds in the Python files of a folder.

    Returns `{ran, ok, told}`: how many, whether all passed, and what there is to say.
    """
    out = io.StringIO()
    suite = unittest.defaultTestLoader.discover(folder, pattern="*.py")
    result = unittest.TextTestRunner(stream=out, verbosity=0).run(suite)
    told = out.getvalue()[-_TOLD_CHARS:]
    return {"ran": result.testsRun, "ok": result.wasSuccessful(), "told": told}
