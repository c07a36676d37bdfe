"""A model that is asked while the channel is being imported meets no half of a module."""

from __future__ import annotations

import subprocess
import sys


def test_the_sdk_looks_at_no_module_that_another_thread_imports() -> None:
    """The openai SDK looks at `sys.modules["httpx"]` at each request: a reminder that was due at
    the start failed, since a thread was importing it for the channel."""
    look = "print(hasattr(sys.modules.get('httpx'), 'Timeout'))"
    program = f"import sys, aouo.providers.openai_line; {look}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout.strip() == "True"
