"""A program whose reader has gone ends without a word. Source: issue 44 item 19."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("verb", [["people"]])
def test_a_verb_whose_reader_has_gone_ends_quietly(verb: list[str], tmp_path: Path) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    environ = os.environ | {"AOUO_HOME": str(tmp_path / "home")}
    program = [sys.executable, "-m", "aouo", *verb]
    ended = subprocess.run(
        program, stdout=writes, stderr=subprocess.PIPE, env=environ, check=False, timeout=300
    )
    os.close(writes)

    assert ended.stderr == b""
